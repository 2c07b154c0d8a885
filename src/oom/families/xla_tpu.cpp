// XLA on TPUs: what the compiler refuses, what cannot be loaded, what fails while it runs. Sizes are bare letters (G,
// M, K) and binary.

#include "oom/families/buffer_report.h"
#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr size_t kReach = 40000;

constexpr Clause kCompileClauses[] = {
    {"Used <size> of <size>", {Fact::kUsed, Fact::kCapacity}},
    {"Exceeded <word> capacity by <size>", {Fact::kIgnored, Fact::kExceeded}},
    {"Scoped allocation with size <size> and limit <size>", {Fact::kUsed, Fact::kCapacity}},
    {"exceeded scoped vmem limit by <size>", {Fact::kExceeded}},
    {": reserved <size>", {Fact::kReserved}},
    {" program <size>", {Fact::kProgram}},
    {" arguments <size>", {Fact::kArguments}},
    {"Output size <size>", {Fact::kOutput}},
    {"HLO temp <size>", {Fact::kTemporary}},
};

struct NamedFact {
  Fact fact;
  std::string_view name;
};
constexpr NamedFact kParts[] = {{Fact::kReserved, "reserved"},
                                {Fact::kProgram, "program"},
                                {Fact::kArguments, "arguments"},
                                {Fact::kOutput, "output"},
                                {Fact::kTemporary, "hlo_temp"}};

// "its last axis of 4 fills 4 of 128": where the padding of the buffer is just that.
std::string PaddedAxis(const ListedBuffer& buffer) {
  constexpr uint64_t kLanes = 128;
  const std::vector<uint64_t> axes = AxesOf(buffer.shape);
  if (axes.empty() || axes.back() == 0 || axes.back() >= kLanes || buffer.unpadded_bytes == 0) return "";
  const double ratio = static_cast<double>(buffer.size_bytes) / static_cast<double>(buffer.unpadded_bytes);
  const double lanes = static_cast<double>(kLanes) / static_cast<double>(axes.back());
  if (ratio < lanes * 0.99 || ratio > lanes * 1.01) return "";
  const uint64_t longest = *std::max_element(axes.begin(), axes.end());
  return fmt::format(" Its last axis of {} is laid out as 128; with the axis of {} last there is no such padding.",
                     axes.back(), FormatCount(longest));
}

void AddBufferRemedies(const std::vector<ListedBuffer>& buffers, uint64_t used_bytes, uint64_t capacity_bytes,
                       OomReport& report) {
  const auto most_padded = std::max_element(
      buffers.begin(), buffers.end(),
      [](const ListedBuffer& a, const ListedBuffer& b) { return a.PaddingBytes() < b.PaddingBytes(); });
  const auto add = [&](const std::string& change, uint64_t bytes, RemedyBasis basis) {
    const uint64_t left_bytes = MinusOr0(used_bytes, bytes);
    report.remedies.push_back(
        {fmt::format("{}: {} in all.", change, FormatBytes(left_bytes)), bytes, basis, left_bytes <= capacity_bytes});
  };
  if (most_padded->PaddingBytes() > 0) {
    report.text += fmt::format(" {} of {} is padding.{}", FormatBytes(most_padded->PaddingBytes()),
                               DescribeBuffer(*most_padded), PaddedAxis(*most_padded));
    add("Lay it out without padding", most_padded->PaddingBytes(), RemedyBasis::kComputed);
    if (most_padded->PaddingBytes() >= report.short_by_bytes.value_or(0)) report.verdict = OomVerdict::kPadding;
  }
  add(fmt::format("Do without {}", DescribeBuffer(buffers.front())), buffers.front().size_bytes,
      RemedyBasis::kComputed);
}

void JudgeCompile(std::string_view window, OomReport& report) {
  const Facts facts = CollectFacts(window, kCompileClauses);
  report.live_bytes = facts.Bytes(Fact::kUsed);
  report.capacity_bytes = facts.Bytes(Fact::kCapacity);
  for (const NamedFact& part : kParts) {
    if (facts.Bytes(part.fact)) report.details.push_back({std::string(part.name), facts.Bytes(part.fact), {}});
  }
  if (facts.HasImpossible()) return Refuse(report, "one of them is larger than any device.");
  if (!report.live_bytes || !report.capacity_bytes) {
    return MarkMasked(report, "The compiler says that the program does not fit into the TPU's memory.",
                      "Paste the whole message, with the list of largest allocations.");
  }
  if (*report.live_bytes <= *report.capacity_bytes) {
    return Refuse(report,
                  fmt::format("{} of {} used is not too much.", Show(report.live_bytes), Show(report.capacity_bytes)));
  }
  report.short_by_bytes = *report.live_bytes - *report.capacity_bytes;
  report.verdict = OomVerdict::kFull;
  report.text = fmt::format("The program needs {} of the TPU's {}: {} too much.", Show(report.live_bytes),
                            Show(report.capacity_bytes), Show(report.short_by_bytes));
  const std::vector<ListedBuffer> buffers = ListBuffers(window);
  if (buffers.empty()) {
    report.missing.push_back({"buffers", "The list of largest allocations is not in the text.",
                              "Paste the whole message; it follows the first line."});
    return;
  }
  AddBufferDetails(buffers, report);
  AddBufferRemedies(buffers, *report.live_bytes, *report.capacity_bytes, report);
}

void FindCompile(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "Ran out of memory in memory space", 0, kReach, [&](std::string_view window, size_t at) {
    const bool is_vector_memory = window.substr(0, 80).find("vmem") != std::string_view::npos;
    OomReport report = StartReport(stream, at, "xla_tpu", is_vector_memory ? "tpu_vmem" : "tpu_compile");
    JudgeCompile(window, report);
    if (is_vector_memory) {
      report.text +=
          " This is the vector memory beside the core, not HBM: a smaller block or tile of the kernel helps.";
    }
    reports.push_back(std::move(report));
  });
}

constexpr Clause kRunClauses[] = {
    {"Attempting to reserve <size> at the bottom of memory", {Fact::kRequested}},
    {"Attempting to allocate <size>", {Fact::kRequested}},
    {"There are <size> free", {Fact::kFree}},
    {"<size> reserved", {Fact::kReserved}},
    {"<size> reservable", {Fact::kLargestHole}},
    {"largest contiguous region of free memory is <size>", {Fact::kLargestHole}},
    {"largest contiguous region<skip><size>", {Fact::kLargestHole}},
};

void JudgeRun(const Facts& facts, bool is_load, OomReport& report) {
  report.requested_bytes = facts.Bytes(Fact::kRequested);
  report.free_bytes = facts.Bytes(Fact::kFree);
  report.largest_hole_bytes = facts.Bytes(Fact::kLargestHole);
  const std::string first =
      fmt::format("{} {} with {} free on the TPU", is_load ? "Loading a program reserves" : "The run asked for",
                  Show(report.requested_bytes), Show(report.free_bytes));
  if (facts.HasImpossible()) return Refuse(report, "one of them is larger than any device.");
  if (!report.requested_bytes || !report.free_bytes) return MarkMasked(report, first + ".", "Paste the whole message.");
  if (*report.free_bytes < *report.requested_bytes) {
    report.short_by_bytes = *report.requested_bytes - *report.free_bytes;
    report.verdict = OomVerdict::kFull;
    report.text = fmt::format("{}: short by {}.", first, Show(report.short_by_bytes));
  } else if (report.largest_hole_bytes && *report.largest_hole_bytes < *report.requested_bytes) {
    report.short_by_bytes = *report.requested_bytes - *report.largest_hole_bytes;
    report.verdict = OomVerdict::kFragmented;
    report.text =
        fmt::format("{}, but the largest piece is {}: the free memory is in pieces, short by {} in one piece.", first,
                    Show(report.largest_hole_bytes), Show(report.short_by_bytes));
  } else {
    return Refuse(report, first + ": that would have been enough.");
  }
  report.remedies.push_back({fmt::format("Hold {} less on the device when it happens.", Show(report.short_by_bytes)),
                             report.short_by_bytes, RemedyBasis::kComputed,
                             report.verdict == OomVerdict::kFull ? std::optional<bool>(true) : std::nullopt});
}

void FindRun(const LogStream& stream, std::vector<OomReport>& reports) {
  constexpr std::pair<std::string_view, std::string_view> kHeads[] = {{"Attempting to reserve", "tpu_load"},
                                                                      {"Attempting to allocate", "tpu_run"}};
  for (const auto& [head, format] : kHeads) {
    ForEachMessage(stream.text, head, 0, 700, [&, name = format](std::string_view window, size_t at) {
      const Facts facts = CollectFacts(window, kRunClauses);
      if (!facts.Has(Fact::kRequested)) return;
      OomReport report = StartReport(stream, at, "xla_tpu", name);
      JudgeRun(facts, name == "tpu_load", report);
      reports.push_back(std::move(report));
    });
  }
}

}  // namespace

void FindXlaTpu(const LogStream& stream, std::vector<OomReport>& reports) {
  FindCompile(stream, reports);
  FindRun(stream, reports);
}

}  // namespace memstrata::oom
