// What PyTorch prints elsewhere: Apple's MPS, the table of memory_summary(), the lines of DeepSpeed, and the assertion
// that hides an out-of-memory error in containers and on slices of a card.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr Clause kMpsClauses[] = {
    {"(MPS allocated: <size>, other allocations: <size>, max allowed: <size>)",
     {Fact::kLive, Fact::kOutside, Fact::kCap}},
    {"(MPS allocated: <size>, max allowed: <size>)", {Fact::kLive, Fact::kCap}},
    {"Tried to allocate <size>", {Fact::kRequested}},
};

void FindMps(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "MPS backend out of memory", 0, 600, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kMpsClauses);
    OomReport report = StartReport(stream, at, "torch", "torch_mps");
    report.requested_bytes = facts.Bytes(Fact::kRequested);
    report.live_bytes = facts.Bytes(Fact::kLive);
    report.outside_bytes = facts.Bytes(Fact::kOutside);
    report.cap_bytes = facts.Bytes(Fact::kCap);
    const uint64_t used_bytes = report.live_bytes.value_or(0) + report.outside_bytes.value_or(0);
    if (!report.requested_bytes || !report.live_bytes || !report.cap_bytes) {
      MarkMasked(report, "The MPS backend ran out of memory; its figures are missing.", "Paste the whole message.");
    } else if (facts.HasImpossible()) {
      Refuse(report, "one of them is larger than any device.");
    } else if (used_bytes + *report.requested_bytes + facts.Tolerance(Fact::kCap) * 4 < *report.cap_bytes) {
      Refuse(report, fmt::format("{} in use and {} more stay below the limit of {}.", FormatBytes(used_bytes),
                                 Show(report.requested_bytes), Show(report.cap_bytes)));
    } else {
      report.short_by_bytes = MinusOr0(used_bytes + *report.requested_bytes, *report.cap_bytes);
      report.verdict = OomVerdict::kCap;
      report.text = fmt::format(
          "PyTorch asked for {} where {} of {} allowed were in use: {} over the limit, which is a share of what the "
          "system recommends.",
          Show(report.requested_bytes), FormatBytes(used_bytes), Show(report.cap_bytes), Show(report.short_by_bytes));
      report.remedies.push_back({fmt::format("Hold {} less when it happens.", Show(report.short_by_bytes)),
                                 report.short_by_bytes, RemedyBasis::kComputed, true});
    }
    reports.push_back(std::move(report));
  });
}

constexpr Clause kSummaryClauses[] = {
    {"CUDA OOMs: <int>", {Fact::kCount}},
    {"| Allocated memory | <size>", {Fact::kLive}},
    {"| Active memory | <size>", {Fact::kUsed}},
    {"| GPU reserved memory | <size>", {Fact::kReserved}},
    {"| Non-releasable memory | <size>", {Fact::kTemporary}},
};

void FindMemorySummary(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "CUDA OOMs:", 0, 6000, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kSummaryClauses);
    const auto& active = facts.Get(Fact::kUsed);
    if (!active || !facts.Has(Fact::kReserved)) return;
    OomReport report = StartReport(stream, at, "torch", "torch_memory_summary");
    report.live_bytes = facts.Bytes(Fact::kLive);
    report.idle_bytes = MinusOr0(facts.BytesOr0(Fact::kReserved), active->bytes);
    report.details.push_back({"non_releasable", facts.Bytes(Fact::kTemporary), {}});
    report.details.push_back({"oom_count", {}, facts.Number(Fact::kCount)});
    const bool failed = facts.Number(Fact::kCount) > 0;
    report.verdict = failed ? OomVerdict::kMasked : OomVerdict::kNotExhaustion;
    report.text = fmt::format(
        "A table of the allocator: {} live, {} reserved and idle, of which {} cannot be returned because it lies "
        "beside "
        "live blocks; {} until then.",
        Show(report.live_bytes), Show(report.idle_bytes), Show(facts.Bytes(Fact::kTemporary)),
        FormatCount(static_cast<uint64_t>(facts.Number(Fact::kCount)), "out-of-memory error"));
    if (failed) report.missing.push_back({"request", "The table does not say what failed.", "Paste the error too."});
    reports.push_back(std::move(report));
  });
}

// Memory allocated (MA) and cached (CA) of a DeepSpeed log: a log repeats the line, so the highest is kept.
void FindDeepSpeed(const LogStream& stream, std::vector<OomReport>& reports) {
  OomReport highest;
  uint64_t highest_bytes = 0;
  uint32_t count = 0;
  for (size_t at = 0;;) {
    const std::optional<PatternMatch> match =
        FindPattern(stream.text, "MA <size> Max_MA <size> CA <size> Max_CA <decimal>", at);
    if (!match) break;
    at = match->end;
    ++count;
    if (match->values[1].bytes < highest_bytes && count > 1) continue;
    highest_bytes = match->values[1].bytes;
    highest = StartReport(stream, match->begin, "torch", "deepspeed");
    highest.live_bytes = match->values[0].bytes;
    highest.idle_bytes = MinusOr0(match->values[2].bytes, match->values[0].bytes);
    highest.details.push_back({"peak_allocated", match->values[1].bytes, {}});
  }
  if (count == 0) return;
  highest.count = count;
  highest.verdict = OomVerdict::kNotExhaustion;
  highest.text = fmt::format("A log of DeepSpeed: {} allocated at most; {} live and {} idle then.",
                             FormatBytes(highest_bytes), Show(highest.live_bytes), Show(highest.idle_bytes));
  reports.push_back(std::move(highest));
}

void FindMaskedAssertion(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "NVML_SUCCESS == r INTERNAL ASSERT FAILED", 0, 400, [&](std::string_view, size_t at) {
    OomReport report = StartReport(stream, at, "torch", "torch_nvml_assert");
    MarkMasked(report,
               "An allocation failed, and the message about it failed too: PyTorch could not ask the driver for the "
               "processes on the device, as in some containers and on slices of a card.",
               "Record a snapshot on the failure (torch.cuda.memory._dump_snapshot in an except block).");
    reports.push_back(std::move(report));
  });
}

}  // namespace

void FindTorchOther(const LogStream& stream, std::vector<OomReport>& reports) {
  FindMps(stream, reports);
  FindMemorySummary(stream, reports);
  FindDeepSpeed(stream, reports);
  FindMaskedAssertion(stream, reports);
}

}  // namespace memstrata::oom
