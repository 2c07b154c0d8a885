// XLA on GPUs (JAX, and TensorFlow's XLA): the error, the warnings of the compiler about what it could not shrink, and
// the driver's answers while the memory pool is probed.

#include "oom/families/buffer_report.h"
#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr size_t kReach = 24000;  // the report of buffers that follows an error

constexpr Clause kClauses[] = {
    {"while trying to allocate <size>", {Fact::kRequested}},
    {"Failed to allocate request for <size> (<bytes>B) on device ordinal", {Fact::kIgnored, Fact::kRequested}},
    {"parameter allocation: <size>", {Fact::kArguments}},
    {"maybe_live_out allocation: <size>", {Fact::kOutput}},
    {"preallocated temp allocation: <size>", {Fact::kTemporary}},
    {"total allocation: <size>", {Fact::kUsed}},
    {"total fragmentation: <size>", {Fact::kPadding}},
};

struct NamedFact {
  Fact fact;
  std::string_view name;
};
constexpr NamedFact kPlanned[] = {{Fact::kArguments, "parameter_allocation"},
                                  {Fact::kOutput, "maybe_live_out_allocation"},
                                  {Fact::kTemporary, "preallocated_temp_allocation"},
                                  {Fact::kUsed, "total_allocation"},
                                  {Fact::kPadding, "total_fragmentation"}};

void Judge(std::string_view window, OomReport& report) {
  const Facts facts = CollectFacts(window, kClauses);
  report.requested_bytes = facts.Bytes(Fact::kRequested);
  for (const NamedFact& planned : kPlanned) {
    if (facts.Bytes(planned.fact)) report.details.push_back({std::string(planned.name), facts.Bytes(planned.fact), {}});
  }
  if (facts.HasImpossible()) return Refuse(report, "one of them is larger than any device.");
  const std::string first = report.requested_bytes
                                ? fmt::format("XLA asked for {} and did not get it.", Show(report.requested_bytes))
                                : "XLA's plan of a program's buffers.";
  MarkMasked(report, first,
             "Log what the allocator holds: TF_CPP_VMODULE=bfc_allocator=1, or a profile of jax.profiler "
             "(docs/howto/jax_and_tensorflow.md).");
  if (facts.Bytes(Fact::kUsed)) {
    report.text += fmt::format(" The compiled program plans {}, {} of it temporary buffers that are its own choice.",
                               Show(facts.Bytes(Fact::kUsed)), Show(facts.Bytes(Fact::kTemporary)));
  }
  const std::vector<ListedBuffer> buffers = ListBuffers(window);
  if (buffers.empty()) return;
  AddBufferDetails(buffers, report);
  report.text += fmt::format(" The largest buffer at its peak is {}.", DescribeBuffer(buffers.front()));
  report.remedies.push_back({fmt::format("Do without {}.", DescribeBuffer(buffers.front())), buffers.front().size_bytes,
                             RemedyBasis::kMeasured, std::nullopt});
}

void FindErrors(const LogStream& stream, std::vector<OomReport>& reports) {
  constexpr std::pair<std::string_view, std::string_view> kHeads[] = {
      {"Out of memory while trying to allocate", "xla_allocate"},
      {"Failed to allocate request for", "xla_request"},
  };
  for (const auto& [head, format] : kHeads) {
    ForEachMessage(stream.text, head, 0, kReach, [&, name = format](std::string_view window, size_t at) {
      window = window.substr(0, std::min(window.find("RESOURCE_EXHAUSTED", 1), window.size()));
      OomReport report = StartReport(stream, at, "jax", name);
      Judge(window, report);
      reports.push_back(std::move(report));
    });
  }
}

// The report of buffers alone, of a log without the error or pasted without it.
void FindBufferReports(const LogStream& stream, size_t first, std::vector<OomReport>& reports) {
  const size_t at = stream.text.find("BufferAssignment");
  if (at == std::string::npos || reports.size() > first) return;
  const std::string_view window = std::string_view(stream.text).substr(at, kReach);
  if (!FindPattern(window, "total allocation: <size>")) return;
  OomReport report = StartReport(stream, at, "jax", "xla_buffers");
  Judge(window, report);
  if (report.verdict == OomVerdict::kMasked) report.verdict = OomVerdict::kNotExhaustion;
  report.missing.clear();
  report.remedies.clear();
  reports.push_back(std::move(report));
}

// The compiler could not bring the program below its budget: a warning that an error may follow, with figures of its
// own.
void FindRematerialization(const LogStream& stream, std::vector<OomReport>& reports) {
  constexpr Clause kRemat[] = {
      {"Can't reduce memory use below <size> (<bytes> bytes)", {Fact::kIgnored, Fact::kLimit}},
      {"only reduced to <size> (<bytes> bytes)", {Fact::kIgnored, Fact::kUsed}},
      {"down from <size> (<bytes> bytes)", {Fact::kIgnored, Fact::kWanted}},
  };
  ForEachMessage(stream.text, "Can't reduce memory use below", 0, 500, [&](std::string_view window, size_t at) {
    const Facts facts = CollectFacts(window, kRemat);
    OomReport report = StartReport(stream, at, "jax", "xla_rematerialization");
    const std::optional<uint64_t> limit = facts.Bytes(Fact::kLimit);
    const std::optional<uint64_t> used = facts.Bytes(Fact::kUsed);
    report.cap_bytes = limit;
    report.verdict = OomVerdict::kNotExhaustion;
    report.text = fmt::format(
        "A warning of the compiler: recomputation brought the program from {} to {}, still above its budget of {}. It "
        "fails only where the device has less than that.",
        Show(facts.Bytes(Fact::kWanted)), Show(used), Show(limit));
    if (used) report.details.push_back({"reduced_to", used, {}});
    if (facts.Bytes(Fact::kWanted)) report.details.push_back({"originally", facts.Bytes(Fact::kWanted), {}});
    if (used && limit) report.short_by_bytes = MinusOr0(*used, *limit);
    reports.push_back(std::move(report));
  });
}

void FindArguments(const LogStream& stream, std::vector<OomReport>& reports) {
  constexpr Clause kArguments[] = {
      {"The byte size of input/output arguments (<bytes>) exceeds the base limit (<bytes>)",
       {Fact::kArguments, Fact::kLimit}},
  };
  ForEachMessage(stream.text, "The byte size of input/output arguments", 0, 300,
                 [&](std::string_view window, size_t at) {
                   const Facts facts = CollectFacts(window, kArguments);
                   if (!facts.Has(Fact::kLimit)) return;
                   OomReport report = StartReport(stream, at, "jax", "xla_arguments");
                   report.live_bytes = facts.Bytes(Fact::kArguments);
                   report.cap_bytes = facts.Bytes(Fact::kLimit);
                   report.short_by_bytes = MinusOr0(facts.BytesOr0(Fact::kArguments), facts.BytesOr0(Fact::kLimit));
                   report.verdict = OomVerdict::kFull;
                   report.text = fmt::format(
                       "The program's inputs and outputs alone ({}) are larger than what the compiler may use ({}): no "
                       "recomputation "
                       "can make it fit. Donate inputs, or shard them.",
                       Show(report.live_bytes), Show(report.cap_bytes));
                   report.remedies.push_back({fmt::format("{} less input and output.", Show(report.short_by_bytes)),
                                              report.short_by_bytes, RemedyBasis::kComputed, std::nullopt});
                   reports.push_back(std::move(report));
                 });
}

// While the pool is sized, the driver refuses larger and larger requests less: a falling row of them is no failure.
void FindDriverRefusals(const LogStream& stream, std::vector<OomReport>& reports) {
  std::vector<PatternMatch> refusals;
  for (size_t at = 0;;) {
    const auto match = FindPattern(stream.text, "failed to allocate <size> (<bytes> bytes) from device:", at);
    if (!match) break;
    at = match->end;
    refusals.push_back(*match);
  }
  for (size_t i = 0; i < refusals.size();) {
    size_t end = i + 1;
    while (end < refusals.size() && refusals[end].values[1].bytes < refusals[end - 1].values[1].bytes) ++end;
    OomReport report = StartReport(stream, refusals[i].begin, "jax", "xla_driver");
    report.requested_bytes = refusals[i].values[1].bytes;
    report.count = static_cast<uint32_t>(end - i);
    if (end - i > 1) {
      report.verdict = OomVerdict::kNotExhaustion;
      report.text =
          fmt::format("The pool was probed from {} down to {}: the driver's refusals on the way are no failure.",
                      Show(report.requested_bytes), FormatBytes(refusals[end - 1].values[1].bytes));
    } else {
      MarkMasked(report, fmt::format("The driver refused {}.", Show(report.requested_bytes)),
                 "See how much other processes hold (nvidia-smi, rocm-smi); a pool of a preallocating process takes "
                 "three quarters of the device.");
    }
    reports.push_back(std::move(report));
    i = end;
  }
}

}  // namespace

void FindXlaGpu(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  FindErrors(stream, reports);
  FindBufferReports(stream, first, reports);
  FindRematerialization(stream, reports);
  FindArguments(stream, reports);
  FindDriverRefusals(stream, reports);
}

}  // namespace memstrata::oom
