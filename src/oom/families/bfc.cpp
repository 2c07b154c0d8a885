// The best-fit-with-coalescing allocator of TensorFlow and XLA: its warning, its dump of bins and chunks, and
// TensorFlow's error about one tensor.

#include "oom/families/buffer_report.h"
#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr std::string_view kHead = "an out of memory trying to allocate ";
constexpr size_t kDumpReach = size_t{32} << 20;  // one line for each chunk
constexpr uint64_t kRoundingBytes = 256;         // chunks are multiples of it

constexpr Clause kClauses[] = {
    {"trying to allocate <size> (rounded to <bytes>)", {Fact::kIgnored, Fact::kRequested}},
    {"trying to allocate <size>", {Fact::kRequested}},
    {"Limit: <bytes>", {Fact::kCapacity}},
    {" InUse: <bytes>", {Fact::kLive}},
    {"MaxInUse: <bytes>", {Fact::kUsed}},
    {"LargestFreeBlock: <bytes>", {Fact::kIgnored}},
    {"Sum Total of in-use chunks: <size>", {Fact::kLive}},
};

// Regions and free chunks of a dump.
struct Dump {
  uint64_t region_bytes = 0;
  uint64_t largest_free_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t region_count = 0;
};

Dump ReadDump(std::string_view window) {
  Dump dump;
  for (size_t at = 0;;) {
    const auto match = FindPattern(window, "Next region of size <bytes>", at);
    if (!match) break;
    at = match->end;
    if (match->values[0].IsImpossible()) continue;
    dump.region_bytes += match->values[0].bytes;
    ++dump.region_count;
  }
  for (size_t at = 0;;) {
    const auto match = FindPattern(window, "Free at <word> of size <bytes>", at);
    if (!match) break;
    at = match->end;
    if (match->values[1].IsImpossible()) continue;
    dump.free_bytes += match->values[1].bytes;
    dump.largest_free_bytes = std::max(dump.largest_free_bytes, match->values[1].bytes);
  }
  return dump;
}

bool IsPinnedHost(std::string_view allocator) {
  return allocator.find("host_bfc") != std::string_view::npos;  // cuda_host_bfc, gpu_host_bfc
}

void DecideFromDump(const Dump& dump, const std::string& first, OomReport& report) {
  const uint64_t limit_bytes = *report.capacity_bytes;
  const uint64_t requested_bytes = *report.requested_bytes;
  const uint64_t in_use_bytes = *report.live_bytes;
  const uint64_t below_limit_bytes = MinusOr0(limit_bytes, in_use_bytes);
  report.text =
      fmt::format("{}; {} of its limit of {} was in use", first, Show(report.live_bytes), Show(report.capacity_bytes));
  if (below_limit_bytes < requested_bytes) {
    report.short_by_bytes = requested_bytes - below_limit_bytes;
    report.verdict = OomVerdict::kFull;
    report.text += fmt::format(": short by {}.", Show(report.short_by_bytes));
  } else if (dump.region_count == 0) {
    report.verdict = OomVerdict::kFragmented;
    report.text += fmt::format(
        ". {} below the limit is more than was asked for, so it lies in pieces or the device could not give it; the "
        "list of chunks is not in the text.",
        FormatBytes(below_limit_bytes));
  } else if (dump.free_bytes >= requested_bytes) {
    report.short_by_bytes = MinusOr0(requested_bytes, dump.largest_free_bytes);
    report.verdict = OomVerdict::kFragmented;
    report.text +=
        fmt::format(", {} was free in its regions, and the largest piece was {}: short by {} in one piece.",
                    FormatBytes(dump.free_bytes), FormatBytes(dump.largest_free_bytes), Show(report.short_by_bytes));
  } else {
    report.short_by_bytes = requested_bytes - dump.free_bytes;
    report.verdict = OomVerdict::kOutside;
    report.text += fmt::format(", but its regions hold only {}: the device did not give the rest, so others hold it.",
                               FormatBytes(dump.region_bytes));
  }
  if (!report.short_by_bytes) return;
  // Whether what is freed lies in one piece with other free memory is not in the text.
  report.remedies.push_back({fmt::format("Hold {} less when it happens.", Show(report.short_by_bytes)),
                             report.short_by_bytes, RemedyBasis::kComputed, std::nullopt});
}

void Judge(std::string_view window, std::string_view allocator, OomReport& report) {
  const Facts facts = CollectFacts(window, kClauses);
  report.requested_bytes = facts.Bytes(Fact::kRequested);
  report.capacity_bytes = facts.Bytes(Fact::kCapacity);
  report.live_bytes = facts.Bytes(Fact::kLive);
  const std::string first = fmt::format("The allocator {} was asked for {}",
                                        allocator.empty() ? "of the device" : allocator, Show(report.requested_bytes));
  if (window.substr(0, 600).find("not a failure") != std::string_view::npos) {
    report.verdict = OomVerdict::kNotExhaustion;
    report.text = first + " and had no room; the caller has another way and only runs slower. This is no failure.";
    return;
  }
  if (facts.HasImpossible()) return Refuse(report, "one of them is larger than any device.");
  if (!report.requested_bytes || !report.capacity_bytes || !report.live_bytes) {
    return MarkMasked(report, first + " and had no room.",
                      "Paste the lines that follow: bins, chunks and \"Stats\" with Limit and InUse.");
  }
  if (*report.live_bytes > *report.capacity_bytes) {
    return Refuse(report,
                  fmt::format("{} is in use of a limit of {}.", Show(report.live_bytes), Show(report.capacity_bytes)));
  }
  const Dump dump = ReadDump(window);
  if (dump.region_count > 0) {
    report.idle_bytes = dump.free_bytes;
    report.largest_hole_bytes = dump.largest_free_bytes;
    report.details.push_back({"regions", dump.region_bytes, {}});
  }
  if (facts.Bytes(Fact::kUsed)) report.details.push_back({"max_in_use", facts.Bytes(Fact::kUsed), {}});
  DecideFromDump(dump, first, report);
  if (IsPinnedHost(allocator)) report.text += " This pool is pinned memory of the host, not the GPU's.";
}

void FindWarnings(const LogStream& stream, std::vector<OomReport>& reports) {
  // JAX and TensorFlow share this allocator; a log of JAX names it somewhere.
  const std::string_view kind = stream.text.find("jax") != std::string::npos ? "jax" : "tensorflow";
  ForEachMessage(stream.text, kHead, 60, kDumpReach, [&](std::string_view window, size_t at) {
    const size_t head = window.find(kHead);
    const auto name = FindPattern(window.substr(0, head), "Allocator (<word>)");
    window.remove_prefix(head);
    const std::string_view allocator = name ? name->values[0].text : std::string_view{};
    OomReport report = StartReport(stream, at, kind, IsPinnedHost(allocator) ? "bfc_host" : "bfc");
    Judge(window, allocator, report);
    reports.push_back(std::move(report));
  });
}

struct DataType {
  std::string_view name;
  uint64_t bytes;
};
constexpr DataType kDataTypes[] = {
    {"float", 4},       {"half", 2},   {"bfloat16", 2}, {"double", 8},  {"int32", 4},  {"int64", 8},
    {"int16", 2},       {"uint16", 2}, {"int8", 1},     {"uint8", 1},   {"bool", 1},   {"complex64", 8},
    {"complex128", 16}, {"uint32", 4}, {"float32", 4},  {"float16", 2}, {"uint64", 8}, {"float64", 8},
};

std::optional<uint64_t> TensorBytes(std::string_view window) {
  const auto type = FindPattern(window, "and type <word>");
  if (!type) return std::nullopt;
  for (const DataType& known : kDataTypes) {
    if (known.name != type->values[0].text) continue;
    uint64_t bytes = known.bytes;
    for (const uint64_t axis : AxesOf(window.substr(0, std::min(window.find(']') + 1, window.size())))) {
      if (__builtin_mul_overflow(bytes, axis, &bytes)) return std::nullopt;
    }
    return bytes;
  }
  return std::nullopt;
}

// The same failure is reported by the allocator and again about its tensor: one report is enough.
bool IsReported(const std::vector<OomReport>& reports, size_t first, uint64_t bytes) {
  constexpr size_t kNear = 64;  // reports that are looked at: the two stand close together
  const size_t begin = std::max(first, reports.size() - std::min(reports.size(), kNear));
  return std::any_of(reports.begin() + static_cast<std::ptrdiff_t>(begin), reports.end(), [&](const OomReport& report) {
    if (!report.requested_bytes || report.verdict == OomVerdict::kNotExhaustion) return false;
    const uint64_t rounded = bytes / kRoundingBytes * kRoundingBytes + kRoundingBytes;
    const uint64_t tolerance = bytes / 100;  // where the warning has a size of two decimals only
    return *report.requested_bytes >= bytes - tolerance && *report.requested_bytes <= rounded + tolerance;
  });
}

void FindTensors(const LogStream& stream, size_t first, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "OOM when allocating tensor with shape", 0, 500, [&](std::string_view window, size_t at) {
    const std::optional<uint64_t> bytes = TensorBytes(window);
    if (bytes && IsReported(reports, first, *bytes)) return;
    const auto name = FindPattern(window, "by allocator <word>");
    const bool pinned = name && IsPinnedHost(name->values[0].text);
    OomReport report = StartReport(stream, at, "tensorflow", pinned ? "tensor_host" : "tensor");
    report.requested_bytes = bytes;
    MarkMasked(report,
               fmt::format("TensorFlow asked for one tensor of {} and did not get it.{}", Show(bytes),
                           pinned ? " It was to lie in pinned memory of the host, not on the GPU." : ""),
               "Paste the lines before it: the allocator prints its chunks and its limit.");
    reports.push_back(std::move(report));
  });
}

}  // namespace

void FindBfc(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  FindWarnings(stream, reports);
  FindTensors(stream, first, reports);
}

}  // namespace memstrata::oom
