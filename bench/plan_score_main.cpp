// plan_score [--points CSV] [--megatron CSV] [--dryrun CSV] [--json]: predicted against measured memory, row by row and
// in sum, beside estimators that know nothing of the step.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/json_writer.h"
#include "plan/request_file.h"
#include "plan_score.h"

namespace memstrata::bench {
namespace {

constexpr size_t kMaxTableBytes = size_t{256} << 20;

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

struct FamilySummary {
  size_t rows = 0;
  size_t out_of_scope = 0;
  std::vector<double> absolute_errors;
  std::vector<double> signed_errors;
  std::vector<double> widths;  // (high - low) / best
  size_t above_high = 0;
  size_t phases = 0, right_phases = 0;
  size_t fits = 0, right_fits = 0;
  std::map<std::string, std::vector<double>> term_errors;
  std::map<std::string, std::vector<double>> naive_errors;
};

double RelativeError(uint64_t predicted, uint64_t measured) {
  if (measured == 0) return predicted == 0 ? 0 : 1;
  return (static_cast<double>(predicted) - static_cast<double>(measured)) / static_cast<double>(measured);
}

void AddRow(const ScoredRow& row, FamilySummary& summary) {
  ++summary.rows;
  if (!row.out_of_scope.empty()) {
    ++summary.out_of_scope;
    return;
  }
  if (row.phase_is_right) {
    ++summary.phases;
    summary.right_phases += *row.phase_is_right ? 1 : 0;
  }
  if (row.fit_is_right) {
    ++summary.fits;
    summary.right_fits += *row.fit_is_right ? 1 : 0;
  }
  if (!row.error) return;
  summary.signed_errors.push_back(*row.error);
  summary.absolute_errors.push_back(std::abs(*row.error));
  summary.widths.push_back(static_cast<double>(row.high_bytes - row.low_bytes) /
                           static_cast<double>(std::max<uint64_t>(1, row.best_bytes)));
  summary.above_high += *row.measured_bytes > row.high_bytes + row.resolution_bytes ? 1 : 0;
  for (const auto& [term, values] : row.terms) {
    if (values.second) summary.term_errors[term].push_back(std::abs(RelativeError(values.first, *values.second)));
  }
  for (const auto& [name, error] : row.naive_errors) summary.naive_errors[name].push_back(std::abs(error));
}

std::map<std::string, FamilySummary> Summarize(const std::vector<ScoredRow>& rows) {
  std::map<std::string, FamilySummary> summaries;
  for (const ScoredRow& row : rows) {
    AddRow(row, summaries[row.family]);
    AddRow(row, summaries["all"]);
  }
  return summaries;
}

void WriteRow(const ScoredRow& row, JsonWriter& json) {
  json.StartObject();
  json.Field("id", std::string_view(row.id));
  json.Field("family", std::string_view(row.family));
  json.Field("measured_bytes", row.measured_bytes);
  json.Field("low_bytes", row.low_bytes);
  json.Field("best_bytes", row.best_bytes);
  json.Field("high_bytes", row.high_bytes);
  json.Field("error", row.error);
  json.Key("peak_phase");
  if (row.peak_phase.empty()) {
    json.Null();
  } else {
    json.Value(std::string_view(row.peak_phase));
  }
  json.Field("phase_is_right", row.phase_is_right);
  json.Field("fit_is_right", row.fit_is_right);
  json.Key("terms");
  json.StartObject();
  for (const auto& [term, values] : row.terms) {
    json.Key(term);
    json.StartObject();
    json.Field("predicted_bytes", values.first);
    json.Field("measured_bytes", values.second);
    json.EndObject();
  }
  json.EndObject();
  json.Key("out_of_scope");
  if (row.out_of_scope.empty()) {
    json.Null();
  } else {
    json.Value(std::string_view(row.out_of_scope));
  }
  json.EndObject();
}

void WriteSummary(const FamilySummary& summary, JsonWriter& json) {
  json.StartObject();
  json.Field("rows", static_cast<uint64_t>(summary.rows));
  json.Field("out_of_scope", static_cast<uint64_t>(summary.out_of_scope));
  json.Field("scored", static_cast<uint64_t>(summary.absolute_errors.size()));
  json.Field("median_absolute_error", Quantile(summary.absolute_errors, 0.5));
  json.Field("p90_absolute_error", Quantile(summary.absolute_errors, 0.9));
  json.Field("median_signed_error", Quantile(summary.signed_errors, 0.5));
  json.Field("measured_above_high", static_cast<uint64_t>(summary.above_high));
  json.Field("median_interval_width", Quantile(summary.widths, 0.5));
  json.Field("phases_right", static_cast<uint64_t>(summary.right_phases));
  json.Field("phases", static_cast<uint64_t>(summary.phases));
  json.Field("fits_right", static_cast<uint64_t>(summary.right_fits));
  json.Field("fits", static_cast<uint64_t>(summary.fits));
  json.Key("terms");
  json.StartObject();
  for (const auto& [term, errors] : summary.term_errors) {
    json.Key(term);
    json.StartObject();
    json.Field("median", Quantile(errors, 0.5));
    json.Field("p90", Quantile(errors, 0.9));
    json.Field("max", Quantile(errors, 1.0));
    json.EndObject();
  }
  json.EndObject();
  json.Key("naive");
  json.StartObject();
  for (const auto& [name, errors] : summary.naive_errors) {
    json.Key(name);
    json.StartObject();
    json.Field("median", Quantile(errors, 0.5));
    json.Field("p90", Quantile(errors, 0.9));
    json.EndObject();
  }
  json.EndObject();
  json.EndObject();
}

void PrintText(const std::vector<ScoredRow>& rows) {
  fmt::print("{:<44} {:<12} {:>15} {:>15} {:>15} {:>15} {:>8}  {}\n", "row", "family", "low", "best", "high",
             "measured", "error", "phase");
  for (const ScoredRow& row : rows) {
    if (!row.out_of_scope.empty()) {
      fmt::print("{:<44} {:<12} out of scope: {}\n", row.id, row.family, row.out_of_scope);
      continue;
    }
    fmt::print("{:<44} {:<12} {:>15} {:>15} {:>15} {:>15} {:>8}  {}{}\n", row.id, row.family, row.low_bytes,
               row.best_bytes, row.high_bytes, row.measured_bytes ? std::to_string(*row.measured_bytes) : "-",
               row.error ? fmt::format("{:+.2f}%", *row.error * 100) : "-", row.peak_phase,
               row.fit_is_right == false ? "  WRONG FIT" : "");
  }
  for (const auto& [family, s] : Summarize(rows)) {
    fmt::print(
        "\n{}: {} rows, {} out of scope, {} scored; error median {:.2f} % p90 {:.2f} % (signed median {:+.2f} %), "
        "above high {}, width median {:.1f} %, "
        "phase {}/{}, fit {}/{}\n",
        family, s.rows, s.out_of_scope, s.absolute_errors.size(), 100 * Quantile(s.absolute_errors, 0.5),
        100 * Quantile(s.absolute_errors, 0.9), 100 * Quantile(s.signed_errors, 0.5), s.above_high,
        100 * Quantile(s.widths, 0.5), s.right_phases, s.phases, s.right_fits, s.fits);
    for (const auto& [term, errors] : s.term_errors) {
      fmt::print("  {:<28} median {:.4f} % p90 {:.4f} % max {:.4f} %\n", term, 100 * Quantile(errors, 0.5),
                 100 * Quantile(errors, 0.9), 100 * Quantile(errors, 1.0));
    }
    for (const auto& [name, errors] : s.naive_errors) {
      fmt::print("  naive {:<22} median {:.1f} % p90 {:.1f} %\n", name, 100 * Quantile(errors, 0.5),
                 100 * Quantile(errors, 0.9));
    }
  }
}

void PrintHeldOut(const HeldOut& held_out) {
  fmt::print(
      "\nheld out (one condition at a time, bounds from the others): {} rows, above high {}, below low {}, width "
      "median {:.1f} %\n",
      held_out.rows, held_out.above_high, held_out.below_low, 100 * held_out.median_width);
}

void WriteHeldOut(const HeldOut& held_out, JsonWriter& json) {
  json.StartObject();
  json.Field("rows", static_cast<uint64_t>(held_out.rows));
  json.Field("measured_above_high", static_cast<uint64_t>(held_out.above_high));
  json.Field("measured_below_low", static_cast<uint64_t>(held_out.below_low));
  json.Field("median_interval_width", held_out.median_width);
  json.EndObject();
}

// What a table cannot do without. A renamed or cut file is not a table without a finding.
std::vector<std::string_view> ColumnsOf(std::string_view kind) {
  if (kind == "--dryrun") return {"row", "config", "task", "batch", "seq", "peak_allocated"};
  if (kind == "--points") return {"id", "mode", "model", "hardware", "metric", "value", "unit"};
  return {"cond_key", "file", "quality", "args_json", "mem_allocated_last", "mem_max_last"};
}

constexpr char kUsage[] =
    "usage: plan_score [--points CSV] [--megatron CSV] [--dryrun CSV] [--json]\n"
    "Scores `memstrata plan` against measured memory: a line for each row with low, best, high, measured and the "
    "signed\n"
    "error, then a summary for each family, beside estimators that know nothing of the step. Rows out of scope say "
    "why.\n"
    "  --points CSV     published measurements\n"
    "  --megatron CSV   golden values of Megatron's functional tests\n"
    "  --dryrun CSV     dry runs; the models' files are in configs/ beside it\n"
    "  --json           the same as JSON\n";

Result<std::vector<ScoredRow>> ScoreTable(std::string_view kind, const std::string& path) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, plan::ReadSmallFile(path, kMaxTableBytes));
  const std::vector<CsvRow> rows = ParseCsv(text);
  if (rows.empty()) return tl::unexpected(Error{ErrorCode::kInvalidArgument, "there is no row", path, {}});
  for (const std::string_view column : ColumnsOf(kind)) {
    if (rows.front().find(column) == rows.front().end())
      return tl::unexpected(Error{ErrorCode::kInvalidArgument, fmt::format("no column \"{}\"", column), path, {}});
  }
  if (kind == "--dryrun") return ScoreDryRuns(rows, path.substr(0, path.find_last_of('/') + 1));
  if (kind == "--points") return ScorePoints(rows);
  return ScoreMegatron(rows);
}

int Run(int argc, char** argv) {
  bool json = false;
  std::vector<ScoredRow> rows;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      json = true;
      continue;
    }
    if (flag == "--help") {
      fmt::print("{}", kUsage);
      return 0;
    }
    const bool is_table = flag == "--dryrun" || flag == "--points" || flag == "--megatron";
    if (!is_table || i + 1 == argc) {
      fmt::print(stderr, "{}", kUsage);
      return 2;
    }
    Result<std::vector<ScoredRow>> scored = ScoreTable(flag, argv[++i]);
    if (!scored) {
      fmt::print(stderr, "plan_score: {}: {}\n", scored.error().file, scored.error().message);
      return 1;
    }
    rows.insert(rows.end(), scored->begin(), scored->end());
  }
  if (rows.empty()) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  if (!json) {
    PrintText(rows);
    PrintHeldOut(ScoreHeldOut(rows));
    return 0;
  }
  JsonWriter writer;
  writer.StartObject();
  writer.Key("rows");
  writer.StartArray();
  for (const ScoredRow& row : rows) WriteRow(row, writer);
  writer.EndArray();
  writer.Key("summary");
  writer.StartObject();
  for (const auto& [family, summary] : Summarize(rows)) {
    writer.Key(family);
    WriteSummary(summary, writer);
  }
  writer.EndObject();
  writer.Key("held_out");
  WriteHeldOut(ScoreHeldOut(rows), writer);
  writer.EndObject();
  std::fputs(writer.Finish().c_str(), stdout);
  return 0;
}

}  // namespace

void SetFigures(uint64_t low, uint64_t best, uint64_t high, ScoredRow& row) {
  row.low_bytes = low;
  row.best_bytes = best;
  row.high_bytes = high;
  if (row.measured_bytes && *row.measured_bytes > 0) row.error = RelativeError(best, *row.measured_bytes);
}

void SetPrediction(const plan::DevicePlan& device, ScoredRow& row) {
  row.bounds = device.peak_spread;
  row.peak_phase = device.peak_phase;
  SetFigures(device.framework_peak_low_bytes, device.framework_peak_bytes, device.framework_peak_high_bytes, row);
}

void SetNaiveErrors(const plan::PlanRequest& request, ScoredRow& row) {
  if (!row.measured_bytes || *row.measured_bytes == 0) return;
  const auto count = static_cast<uint64_t>(request.model.parameter_count);
  const uint64_t weights = count * plan::ParameterBytes(request.workload.precision);
  if (request.workload.task == plan::Task::kTrain) {
    row.naive_errors["parameters x 16"] = RelativeError(16 * count, *row.measured_bytes);
    row.naive_errors["parameters x 20"] = RelativeError(20 * count, *row.measured_bytes);
  }
  row.naive_errors["weights x 1.2"] = RelativeError(weights + weights / 5, *row.measured_bytes);
}

}  // namespace memstrata::bench

int main(int argc, char** argv) { return memstrata::bench::Run(argc, argv); }
