// compare: what one heap of the session holds at its peak that another does not.

#include <algorithm>
#include <array>
#include <cstdlib>

#include "analysis/diff/diff.h"
#include "query/answer_parts.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr size_t kMostRows = 1000;
constexpr std::string_view kCompareKeys[] = {"stack", "function", "category"};
enum class CompareBy : uint8_t { kStack, kFunction, kCategory };

struct CompareRow {
  std::string label;
  std::string where;
  StackId stack{0};                  // only where all blocks share it
  std::optional<Category> category;  // the same
  uint64_t before_bytes = 0;
  uint64_t after_bytes = 0;

  int64_t DeltaBytes() const { return static_cast<int64_t>(after_bytes) - static_cast<int64_t>(before_bytes); }
};

std::string LabelOf(SessionIndex& session, const DiffRow& row, CompareBy by) {
  if (by == CompareBy::kCategory) return std::string(kCategoryNames[static_cast<size_t>(row.category)]);
  return StackLabel(session.store(), session.Useful(), row.stack);
}

std::vector<CompareRow> SingleRows(SessionIndex& session, const std::vector<DiffRow>& rows) {
  std::vector<CompareRow> result;
  result.reserve(rows.size());
  for (const DiffRow& row : rows) {
    result.push_back({.label = LabelOf(session, row, CompareBy::kStack),
                      .where = StackPlace(session.store(), session.Useful(), row.stack),
                      .stack = row.stack,
                      .category = row.category,
                      .before_bytes = row.BeforeBytes(),
                      .after_bytes = row.AfterBytes()});
  }
  return result;
}

std::vector<CompareRow> MergedRows(SessionIndex& session, const std::vector<DiffRow>& rows, CompareBy by) {
  FlatMap<std::string, uint32_t> index_of_label;
  std::vector<CompareRow> merged;
  for (const DiffRow& row : rows) {
    std::string label = LabelOf(session, row, by);
    const auto [entry, is_new] = index_of_label.try_emplace(label, static_cast<uint32_t>(merged.size()));
    if (is_new) merged.push_back({.label = std::move(label), .category = row.category});
    CompareRow& sum = merged[entry->second];
    if (sum.category != row.category) sum.category.reset();
    sum.before_bytes += row.BeforeBytes();
    sum.after_bytes += row.AfterBytes();
  }
  std::sort(merged.begin(), merged.end(), [](const CompareRow& a, const CompareRow& b) {
    const int64_t change_a = std::abs(a.DeltaBytes());
    const int64_t change_b = std::abs(b.DeltaBytes());
    return change_a != change_b ? change_a > change_b : a.label < b.label;
  });
  return merged;
}

// The rows past the limit as one, so that the sums stay those of the peaks.
void CutTail(std::vector<CompareRow>& rows) {
  if (rows.size() <= kMostRows) return;
  CompareRow rest{.label = "everything else"};
  for (size_t i = kMostRows; i < rows.size(); ++i) {
    rest.before_bytes += rows[i].before_bytes;
    rest.after_bytes += rows[i].after_bytes;
  }
  rows.resize(kMostRows);
  rows.push_back(std::move(rest));
}

void WriteRow(JsonWriter& json, SessionIndex& session, const CompareRow& row) {
  json.StartObject();
  json.Field("label", std::string_view(row.label));
  json.Field("where", std::string_view(row.where));
  json.Key("stack");
  WriteStack(json, session, row.stack);
  json.Field("category",
             row.category ? std::optional(kCategoryNames[static_cast<size_t>(*row.category)]) : std::nullopt);
  json.Field("before_bytes", row.before_bytes);
  json.Field("after_bytes", row.after_bytes);
  json.Field("delta_bytes", row.DeltaBytes());
  json.EndObject();
}

// From what the session has worked out of the heap already.
Result<PeakHoldings> HoldingsOf(SessionIndex& session, const Parameters& parameters, std::string_view name) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t index, parameters.Number(name, UINT32_MAX));
  if (index >= session.heaps().size()) return Fail(ErrorCode::kNotFound, "There is no such heap in the session.");
  HeapEntry& entry = *session.heaps()[index];
  const RowRange rows = entry.heap.allocations;
  return PeakHoldings{&session.store(), &entry.heap,
                      std::span(session.CategoryOfRow()).subspan(rows.begin, rows.size()), entry.heap_index.LivePeak()};
}

Result<Answer> AnswerCompare(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(const PeakHoldings before, HoldingsOf(session, parameters, "before"));
  MEMSTRATA_ASSIGN_OR_RETURN(const PeakHoldings after, HoldingsOf(session, parameters, "after"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by, parameters.Choice("by", kCompareKeys, "stack"));
  const HeapDiff diff = DiffPeaks(std::array{before, after});
  const CompareBy key = static_cast<CompareBy>(by);
  std::vector<CompareRow> rows =
      key == CompareBy::kStack ? SingleRows(session, diff.rows) : MergedRows(session, diff.rows, key);
  CutTail(rows);
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("schema", "memstrata.diff/1");
    json.Key("heaps");
    json.StartArray();
    json.StartObject();
    json.Field("id", std::string_view(after.heap->id));
    json.Field("before_peak_bytes", diff.peak_bytes.front());
    json.Field("after_peak_bytes", diff.peak_bytes.back());
    json.Field("peak_live_delta_bytes", diff.DeltaBytes());
    json.Key("rows");
    json.StartArray();
    for (const CompareRow& row : rows) WriteRow(json, session, row);
    json.EndArray();
    json.EndObject();
    json.EndArray();
  });
}

constexpr std::string_view kParameters[] = {"before", "after", "by"};

}  // namespace

const QuestionInfo kCompareQuestion = {"compare", kParameters, AnswerCompare};

}  // namespace memstrata
