// llama.cpp and what is built on ggml, Ollama with it: a buffer that could not be had, the sizes of all buffers, the
// table of where memory went, and the fit that is worked out before loading.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Line {
  std::string_view pattern;
  bool has_bytes;
};
// All lines about one failed buffer; several of them are printed for one failure.
constexpr Line kFailures[] = {
    {"allocating <size> on device <int>: cudaMalloc failed", true},
    {"failed to allocate <word> buffer of size <bytes>", true},
    {"unable to allocate <word> buffer", false},
    {"failed to allocate compute pp buffers", false},
    {"failed to allocate compute buffers", false},
};
constexpr size_t kLookBack = 64 * 1024;  // where the sizes of a model's buffers stand before a failure
constexpr size_t kSameFailure = 1500;    // characters between lines of one failure

struct Failure {
  size_t begin = 0;
  size_t end = 0;
  std::optional<uint64_t> bytes;
  std::string device;
};

void AddLines(std::string_view text, const Line& line, std::vector<Failure>& lines) {
  for (size_t at = 0;;) {
    const auto match = FindPattern(text, line.pattern, at);
    if (!match) return;
    at = match->end;
    Failure failure{match->begin, match->end, std::nullopt, {}};
    for (size_t i = 0; i < match->value_count; ++i) {
      const Value& value = match->values[i];
      if (!value.text.empty()) failure.device = value.text;
    }
    if (line.has_bytes) {
      const bool size_first = line.pattern.starts_with("allocating");
      const Value& size = match->values[size_first ? 0 : 1];
      if (!size.IsImpossible()) failure.bytes = size.bytes;
      if (size_first) failure.device = fmt::format("CUDA{}", match->values[1].bytes);
    }
    lines.push_back(failure);
  }
}

// One failure for each group of lines that stand together; an exact size wins over one of two decimals.
std::vector<Failure> GroupFailures(std::string_view text) {
  std::vector<Failure> lines;
  for (const Line& line : kFailures) AddLines(text, line, lines);
  std::sort(lines.begin(), lines.end(), [](const Failure& a, const Failure& b) { return a.begin < b.begin; });
  std::vector<Failure> failures;
  for (const Failure& line : lines) {
    if (failures.empty() || line.begin > failures.back().end + kSameFailure) {
      failures.push_back(line);
      continue;
    }
    failures.back().end = line.end;
    if (line.bytes) failures.back().bytes = line.bytes;
    if (failures.back().device.empty()) failures.back().device = line.device;
  }
  return failures;
}

struct BufferKind {
  std::string_view words;
  std::string_view name;
};
constexpr BufferKind kBuffers[] = {{" model buffer size = <size>", "model"},
                                   {" KV buffer size = <size>", "kv_cache"},
                                   {" compute buffer size = <size>", "compute"},
                                   {"KV self size = <size>", "kv_self"},
                                   {" output buffer size = <size>", "output"}};

// The sizes of buffers before `end`, named by device: "CUDA0 model".
std::vector<OomDetail> ListBuffers(std::string_view text) {
  std::vector<OomDetail> details;
  for (const BufferKind& kind : kBuffers) {
    for (size_t at = 0; details.size() < 64;) {
      const auto match = FindPattern(text, kind.words, at);
      if (!match) break;
      at = match->end;
      const std::string_view before = text.substr(0, match->begin);
      const size_t space = before.find_last_of(' ');
      std::string name(kind.name);
      if (kind.words[0] == ' ') name = fmt::format("{} {}", before.substr(space == before.npos ? 0 : space + 1), name);
      details.push_back({name, match->values[0].bytes, {}});
    }
  }
  return details;
}

uint64_t HeldOn(const std::vector<OomDetail>& details, std::string_view device) {
  uint64_t held_bytes = 0;
  for (const OomDetail& detail : details) {
    if (!device.empty() && detail.name.starts_with(std::string(device) + " ")) held_bytes += detail.bytes.value_or(0);
  }
  return held_bytes;
}

void FindFailures(const LogStream& stream, std::vector<OomReport>& reports) {
  for (const Failure& failure : GroupFailures(stream.text)) {
    const size_t begin = failure.begin - std::min(failure.begin, kLookBack);
    const std::string_view before = std::string_view(stream.text).substr(begin, failure.begin - begin);
    OomReport report = StartReport(stream, failure.begin, "llama_cpp", "ggml_buffer");
    report.requested_bytes = failure.bytes;
    report.details = ListBuffers(before);
    const uint64_t held_bytes = HeldOn(report.details, failure.device);
    if (held_bytes > 0) report.live_bytes = held_bytes;
    const std::string device = failure.device.empty() ? "the device" : failure.device;
    report.text = fmt::format("A buffer of {} on {} could not be had", Show(failure.bytes), device);
    const auto at_start = FindPattern(before, fmt::format("using device {}<skip> - <size> free", failure.device));
    if (at_start && failure.bytes && !failure.device.empty()) {
      report.free_bytes = MinusOr0(at_start->values[0].bytes, held_bytes);
    }
    if (report.free_bytes && *report.free_bytes < *report.requested_bytes) {
      report.verdict = OomVerdict::kFull;
      report.short_by_bytes = *report.requested_bytes - *report.free_bytes;
      report.text +=
          fmt::format(": {} was free at the start and {} is taken since, so it is short by {}.",
                      FormatBytes(at_start->values[0].bytes), FormatBytes(held_bytes), Show(report.short_by_bytes));
      report.remedies.push_back(
          {fmt::format("Take {} less: fewer layers on the device, a shorter context, a smaller batch.",
                       Show(report.short_by_bytes)),
           report.short_by_bytes, RemedyBasis::kComputed, true});
    } else {
      MarkMasked(report, report.text + "; how much was free is not in the text.",
                 "Paste the whole log: the line \"using device\" and the sizes of the buffers.");
    }
    reports.push_back(std::move(report));
  }
}

// A row of the table in MiB: total = free + (self = model + context + compute) + unaccounted. Every figure is cut, so a
// sum may miss by one for each term.
constexpr std::string_view kBreakdownNames[] = {"total", "free", "self", "model", "context", "compute", "unaccounted"};
constexpr uint64_t kCutMib = 3;

// kMostValues is too small for seven figures: the row is read in two parts.
std::optional<std::array<Value, 7>> ReadBreakdown(std::string_view text, size_t at, size_t& begin, size_t& end) {
  const auto head = FindPattern(text, "<int> = <int> + (<int> = <int> + <int> + <int>)", at);
  if (!head) return std::nullopt;
  begin = head->begin;
  end = head->end;
  const auto tail = MatchPattern(text, " + <int>", head->end);
  if (!tail) return std::array<Value, 7>{};
  end = tail->end;
  std::array<Value, 7> figures;
  std::copy_n(head->values.begin(), 6, figures.begin());
  figures[6] = tail->values[0];
  return figures;
}

void JudgeBreakdown(const std::array<Value, 7>& mib, OomReport& report) {
  const auto to_bytes = [&](size_t i) { return std::optional<uint64_t>(mib[i].bytes * kMiB); };
  for (const Value& value : mib) {
    if (value.bytes < (uint64_t{1} << 40) && !value.is_negative) continue;
    report.capacity_bytes.reset();
    return Refuse(report, "one of them is larger than any device, or below zero (an underflow).");
  }
  report.capacity_bytes = to_bytes(0);
  report.free_bytes = to_bytes(1);
  report.live_bytes = to_bytes(2);
  report.outside_bytes = to_bytes(6);
  for (size_t i = 3; i < 6; ++i) report.details.push_back({std::string(kBreakdownNames[i]), to_bytes(i), {}});
  const auto differs = [](uint64_t a, uint64_t b) { return a > b + kCutMib || b > a + kCutMib; };
  if (differs(mib[0].bytes, mib[1].bytes + mib[2].bytes + mib[6].bytes) ||
      differs(mib[2].bytes, mib[3].bytes + mib[4].bytes + mib[5].bytes)) {
    return Refuse(report, "the parts do not add up to the total.");
  }
  report.verdict = OomVerdict::kNotExhaustion;
  report.text = fmt::format(
      "Where the device's {} went: {} the model ({}), {} the context, {} compute, {} outside, {} free. The context "
      "grows "
      "with its length, compute with the batch.",
      Show(to_bytes(0)), Show(to_bytes(3)), FormatPercent(Share(mib[3].bytes, mib[0].bytes)), Show(to_bytes(4)),
      Show(to_bytes(5)), Show(to_bytes(6)), Show(to_bytes(1)));
}

void FindBreakdown(const LogStream& stream, std::vector<OomReport>& reports) {
  for (size_t at = 0, begin = 0;;) {
    size_t end = 0;
    const auto figures = ReadBreakdown(stream.text, at, begin, end);
    if (!figures) return;
    at = end;
    if ((*figures)[0].bytes == 0) continue;  // not a row of a device
    OomReport report = StartReport(stream, begin, "llama_cpp", "memory_breakdown");
    JudgeBreakdown(*figures, report);
    reports.push_back(std::move(report));
  }
}

// Worked out before loading: it does not fit, or it does.
void FindFit(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "projected to use ", 0, 1200, [&](std::string_view window, size_t at) {
    const auto fit = MatchPattern(window, "projected to use <size><skip>vs. <size>", 0);
    if (!fit) return;
    OomReport report = StartReport(stream, at, "llama_cpp", "fit");
    report.requested_bytes = fit->values[0].bytes;
    report.free_bytes = fit->values[1].bytes;
    uint64_t to_reduce_bytes = MinusOr0(*report.requested_bytes, *report.free_bytes);
    if (const auto margin = FindPattern(window, "need to reduce device memory by <size>")) {
      report.details.push_back({"to_reduce", margin->values[0].bytes, {}});
      to_reduce_bytes = std::max(to_reduce_bytes, margin->values[0].bytes);  // its margin included
    }
    const bool fits = to_reduce_bytes == 0;
    report.verdict = fits ? OomVerdict::kNotExhaustion : OomVerdict::kFull;
    report.text =
        fmt::format("It would take {} of the {} that are free", Show(report.requested_bytes), Show(report.free_bytes));
    if (fits) {
      report.text += ": it fits.";
    } else {
      const uint64_t over_bytes = *report.requested_bytes - *report.free_bytes;
      report.short_by_bytes = to_reduce_bytes;
      report.text += fmt::format(": {} too much", FormatBytes(over_bytes));
      report.text += to_reduce_bytes == over_bytes
                         ? "."
                         : fmt::format(", {} with the margin that it leaves free.", FormatBytes(to_reduce_bytes));
      report.remedies.push_back(
          {fmt::format("Take {} less: fewer layers on the device or a shorter context.", Show(report.short_by_bytes)),
           report.short_by_bytes, RemedyBasis::kComputed, true});
    }
    reports.push_back(std::move(report));
  });
}

constexpr Clause kOllamaClauses[] = {
    {"layers.offload=<int>", {Fact::kCount}},          {"layers.model=<int>", {Fact::kTokens}},
    {"memory.available=\"[<size>", {Fact::kFree}},     {"memory.required.full=\"<size>", {Fact::kRequested}},
    {"memory.required.kv=\"<size>", {Fact::kKvCache}},
};

void FindOllama(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "layers.offload=", 300, 900, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kOllamaClauses);
    if (!facts.Has(Fact::kTokens)) return;
    OomReport report = StartReport(stream, at, "llama_cpp", "ollama_offload");
    report.requested_bytes = facts.Bytes(Fact::kRequested);
    report.free_bytes = facts.Bytes(Fact::kFree);
    report.details.push_back({"layers", {}, facts.Number(Fact::kTokens)});
    report.details.push_back({"layers_on_device", {}, facts.Number(Fact::kCount)});
    if (facts.Has(Fact::kKvCache)) report.details.push_back({"kv_cache", facts.Bytes(Fact::kKvCache), {}});
    const bool all = facts.Number(Fact::kCount) >= facts.Number(Fact::kTokens);
    report.verdict = all ? OomVerdict::kNotExhaustion : OomVerdict::kFull;
    report.text =
        fmt::format("{} of {} layers go onto the device", facts.Number(Fact::kCount), facts.Number(Fact::kTokens));
    if (report.requested_bytes && report.free_bytes && *report.requested_bytes > *report.free_bytes) {
      report.short_by_bytes = *report.requested_bytes - *report.free_bytes;
      report.text +=
          fmt::format(": all of them need {}, {} is free", Show(report.requested_bytes), Show(report.free_bytes));
    }
    report.text += ".";
    reports.push_back(std::move(report));
  });
}

// Older builds of Ollama say it in one sentence.
void FindOllamaLayers(const LogStream& stream, std::vector<OomReport>& reports) {
  const auto match = FindPattern(stream.text, "<size> VRAM available, loading up to <int> GPU layers");
  if (!match) return;
  OomReport report = StartReport(stream, match->begin, "llama_cpp", "ollama_layers");
  report.free_bytes = match->values[0].bytes;
  report.details.push_back({"layers_on_device", {}, match->values[1].number});
  report.verdict = OomVerdict::kNotExhaustion;
  report.text = fmt::format("{} is free on the device: room for {}.", Show(report.free_bytes),
                            FormatCount(match->values[1].bytes, "layer"));
  reports.push_back(std::move(report));
}

void FindLog(const LogStream& stream, size_t first, std::vector<OomReport>& reports) {
  if (reports.size() > first) return;
  std::vector<OomDetail> details = ListBuffers(stream.text);
  if (details.empty()) return;
  OomReport report = StartReport(stream, stream.text.find("buffer size ="), "llama_cpp", "llama_log");
  report.verdict = OomVerdict::kNotExhaustion;
  report.text = "A log of llama.cpp without an out-of-memory error.";
  if (const auto layers = FindPattern(stream.text, "offloaded <int>/<int> layers")) {
    details.push_back({"layers_on_device", {}, layers->values[0].number});
    details.push_back({"layers", {}, layers->values[1].number});
  }
  report.details = std::move(details);
  reports.push_back(std::move(report));
}

}  // namespace

void FindLlamaCpp(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  FindFailures(stream, reports);
  FindBreakdown(stream, reports);
  FindFit(stream, reports);
  FindOllama(stream, reports);
  FindOllamaLayers(stream, reports);
  FindLog(stream, first, reports);
}

}  // namespace memstrata::oom
