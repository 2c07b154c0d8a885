// vLLM: what it finds at start, what is left for the cache, and what one request needs of it. The share that the user
// sets (gpu_memory_utilization) is a cap of the whole device.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr Clause kStartClauses[] = {
    {"Free memory on device<skip>(<decimal>/<size>)", {Fact::kIgnored, Fact::kCapacity}},
    {"GPU memory utilization (<decimal>, <size>)", {Fact::kShare, Fact::kWanted}},
};

// The message has two decimals, and what is short is often a difference in the second.
std::string InGib(uint64_t size_bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(size_bytes) / static_cast<double>(uint64_t{1} << 30));
}

// At start: the share of the device that the engine is told to use is not free.
void FindStart(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "Free memory on device", 0, 500, [&](std::string_view window, size_t at) {
    const auto pair = FindPattern(window, "(<decimal>/<size>)");
    Facts facts = CollectFacts(window, kStartClauses);
    OomReport report = StartReport(stream, at, "vllm", "vllm_start");
    report.capacity_bytes = facts.Bytes(Fact::kCapacity);
    report.requested_bytes = facts.Bytes(Fact::kWanted);
    // The free figure is printed without its unit: it is the one of the total.
    if (pair && pair->values[1].number > 0) {
      const double unit_bytes = static_cast<double>(pair->values[1].bytes) / pair->values[1].number;
      report.free_bytes = static_cast<uint64_t>(pair->values[0].number * unit_bytes + 0.5);
    }
    if (!report.capacity_bytes || !report.requested_bytes || !report.free_bytes) {
      MarkMasked(report, "vLLM found less free memory at its start than it is told to use.",
                 "Paste the whole message.");
    } else if (*report.free_bytes > *report.capacity_bytes || *report.free_bytes >= *report.requested_bytes) {
      Refuse(report, fmt::format("{} free of {} would be enough for {}.", Show(report.free_bytes),
                                 Show(report.capacity_bytes), Show(report.requested_bytes)));
    } else {
      report.short_by_bytes = *report.requested_bytes - *report.free_bytes;
      report.neighbour_bytes = *report.capacity_bytes - *report.free_bytes;
      report.verdict = OomVerdict::kOutside;
      // Three decimals, rounded down: the highest share that passes.
      const double share = std::floor(Share(*report.free_bytes, *report.capacity_bytes) * 1000) / 1000;
      report.text = fmt::format(
          "vLLM may use {} ({} of {}), but only {} is free at its start: short by {}. It is not the model: {} is in "
          "use "
          "before it is loaded.",
          InGib(*report.requested_bytes), facts.Number(Fact::kShare), InGib(*report.capacity_bytes),
          InGib(*report.free_bytes), InGib(*report.short_by_bytes), InGib(*report.neighbour_bytes));
      report.details.push_back({"highest_share", {}, share});
      report.remedies.push_back({fmt::format("Free {} on the device before the start.", InGib(*report.short_by_bytes)),
                                 report.short_by_bytes, RemedyBasis::kComputed, true});
      report.remedies.push_back(
          {fmt::format("Set gpu_memory_utilization to {:.3f} or less; the cache is that much smaller.", share),
           report.short_by_bytes, RemedyBasis::kComputed, true});
    }
    reports.push_back(std::move(report));
  });
}

// Nothing is left for the cache.
void FindNoCache(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "No available memory for the cache blocks", 8000, 300,
                 [&](std::string_view window, size_t at) {
                   OomReport report = StartReport(stream, at, "vllm", "vllm_no_cache");
                   report.verdict = OomVerdict::kCap;
                   report.text =
                       "Weights, activations and what lies outside fill the share of the device that vLLM may use: "
                       "nothing is left for the cache.";
                   if (const auto left = FindPattern(window, "Available KV cache memory: <size>");
                       left && left->values[0].is_negative) {
                     report.short_by_bytes = left->values[0].bytes;
                     report.text += fmt::format(" It is {} over before the first block.", Show(report.short_by_bytes));
                     report.remedies.push_back({fmt::format("Raise gpu_memory_utilization so that the share is more "
                                                            "than {} larger, or load fewer weights per device.",
                                                            Show(report.short_by_bytes)),
                                                report.short_by_bytes, RemedyBasis::kComputed, std::nullopt});
                   } else {
                     report.missing.push_back({"sizes", "The message carries none.",
                                               "Paste the lines before it: \"Model loading took\", \"Available KV "
                                               "cache memory\"."});
                   }
                   reports.push_back(std::move(report));
                 });
}

constexpr Clause kRequestClauses[] = {
    {"max seq len (<int>)", {Fact::kTokens}},
    {"<size> KV cache is needed", {Fact::kWanted}},
    {"available KV cache memory (<size>)", {Fact::kKvCache}},
    {"larger than the available KV cache memory<skip>(<size>)", {Fact::kKvCache}},
    {"estimated maximum model length is <int>", {Fact::kTokenLimit}},
};

// One request of the longest length does not fit into the cache: in bytes, from V1 on.
void FindRequest(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "To serve at least one request", 0, 900, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kRequestClauses);
    OomReport report = StartReport(stream, at, "vllm", "vllm_request");
    report.requested_bytes = facts.Bytes(Fact::kWanted);
    report.free_bytes = facts.Bytes(Fact::kKvCache);
    if (!report.requested_bytes || !report.free_bytes) {
      MarkMasked(report, "The cache is too small for one request of the longest length.", "Paste the whole message.");
    } else if (*report.requested_bytes <= *report.free_bytes) {
      Refuse(report,
             fmt::format("{} of cache is enough for {}.", Show(report.free_bytes), Show(report.requested_bytes)));
    } else {
      report.short_by_bytes = *report.requested_bytes - *report.free_bytes;
      report.verdict = OomVerdict::kCap;
      report.text = fmt::format("One request of {} needs {} of cache, and {} is left for it: short by {}.",
                                FormatCount(static_cast<uint64_t>(facts.Number(Fact::kTokens)), "token"),
                                Show(report.requested_bytes), Show(report.free_bytes), Show(report.short_by_bytes));
      report.remedies.push_back({"Raise gpu_memory_utilization, where the device has that much more.",
                                 report.short_by_bytes, RemedyBasis::kComputed, std::nullopt});
      if (facts.Has(Fact::kTokenLimit)) {
        report.remedies.push_back({fmt::format("Set max_model_len to {} or less, as vLLM estimates.",
                                               FormatCount(static_cast<uint64_t>(facts.Number(Fact::kTokenLimit)))),
                                   report.short_by_bytes, RemedyBasis::kAssumed, true});
      }
    }
    reports.push_back(std::move(report));
  });
}

// The same in tokens, before V1.
void FindTokens(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "maximum number of tokens", 300, 300, [&](std::string_view window, size_t at) {
    const auto longest = FindPattern(window, "max seq len (<int>)");
    const auto room = FindPattern(window, "maximum number of tokens<skip>(<int>)");
    if (!longest || !room) return;
    OomReport report = StartReport(stream, at, "vllm", "vllm_tokens");
    report.verdict = OomVerdict::kCap;
    report.text =
        fmt::format("The cache has room for {}, and one request may have {}.",
                    FormatCount(room->values[0].bytes, "token"), FormatCount(longest->values[0].bytes, "token"));
    report.details.push_back({"max_seq_len", {}, longest->values[0].number});
    report.details.push_back({"token_limit", {}, room->values[0].number});
    report.remedies.push_back({fmt::format("Set max_model_len to {} or less.", FormatCount(room->values[0].bytes)),
                               std::nullopt, RemedyBasis::kMeasured, true});
    report.missing.push_back({"bytes", "The message counts tokens.", "Paste the lines before it."});
    reports.push_back(std::move(report));
  });
}

struct LogLine {
  std::string_view pattern;
  std::string_view name;
  bool is_number = false;
};
constexpr LogLine kLogLines[] = {
    {"Model loading took <size>", "model_loading"},
    {"Available KV cache memory: <size>", "kv_cache"},
    {"GPU KV cache size: <int> tokens", "kv_cache_tokens", true},
    {"# GPU blocks: <int>", "gpu_blocks", true},
    {"# CPU blocks: <int>", "cpu_blocks", true},
    {"Estimated CUDA graph memory: <size>", "cuda_graphs_estimated"},
    {"Graph capturing finished in <skip>took <size>", "cuda_graphs"},
};

// The figures of a healthy start, so that the parts of a log can be read off without an error.
void FindLog(const LogStream& stream, size_t first, std::vector<OomReport>& reports) {
  std::vector<OomDetail> details;
  std::optional<size_t> begin;
  for (const LogLine& line : kLogLines) {
    const auto match = FindPattern(stream.text, line.pattern);
    if (!match) continue;
    const Value& value = match->values[0];
    if (value.is_negative) continue;  // how much it is over: the error says it
    begin = std::min(begin.value_or(match->begin), match->begin);
    if (line.is_number) {
      details.push_back({std::string(line.name), {}, value.number});
    } else {
      details.push_back({std::string(line.name), value.bytes, {}});
    }
  }
  if (details.empty()) return;
  if (reports.size() > first) {
    reports[first].details.insert(reports[first].details.end(), details.begin(), details.end());
    return;
  }
  OomReport report = StartReport(stream, *begin, "vllm", "vllm_log");
  report.verdict = OomVerdict::kNotExhaustion;
  report.text = "A log of vLLM without an out-of-memory error.";
  report.details = std::move(details);
  reports.push_back(std::move(report));
}

}  // namespace

void FindVllm(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  FindStart(stream, reports);
  FindNoCache(stream, reports);
  FindRequest(stream, reports);
  FindTokens(stream, reports);
  FindLog(stream, first, reports);
}

}  // namespace memstrata::oom
