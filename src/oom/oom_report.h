#pragma once
// One out-of-memory report: what was asked for, what there was, why it did not fit, and what would have fitted. Made
// from a pasted text or log (oom/oom_text.h) or from a snapshot (analysis/oom/); writers only format it. Fields are
// those of docs/reference/json/oom.schema.json.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata {

enum class OomVerdict : uint8_t {
  kFull,           // what is in use fills the device
  kFragmented,     // idle memory would do, but not in one piece
  kOutside,        // most of the device is held by other processes or outside the framework
  kCap,            // a limit that the user or the engine set, not the device
  kPadding,        // the padding of a layout makes the difference
  kTooLarge,       // one request is larger than the device
  kNotExhaustion,  // looks like a failure and is none
  kContradictory,  // the printed counters cannot all be true
  kMasked,         // memory ran out, or may have, and the message carries no sizes
};
inline constexpr std::string_view kOomVerdictNames[] = {
    "full", "fragmented", "outside", "cap", "padding", "too_large", "not_exhaustion", "contradictory", "masked",
};

enum class RemedyBasis : uint8_t { kComputed, kMeasured, kAssumed };
inline constexpr std::string_view kRemedyBasisNames[] = {"computed", "measured", "assumed"};

/// One change. `bytes`: how much it must free or add, or how much it gives where it is replayed.
struct OomRemedy {
  std::string text;
  std::optional<uint64_t> bytes;
  RemedyBasis basis = RemedyBasis::kAssumed;
  std::optional<bool> would_fit;  // nothing = cannot be told from what there is
};

/// A figure of the message that has no field of its own.
struct OomDetail {
  std::string name;
  std::optional<uint64_t> bytes;
  std::optional<double> number;  // where it is not bytes
};

struct OomMissing {
  std::string what;
  std::string why;
  std::string how_to_get;
};

struct OomReport {
  std::string_view kind;    // "torch", "jax", "xla_tpu", …
  std::string_view format;  // which text of that kind, stable: "torch_2_1"
  std::optional<uint64_t> requested_bytes;
  std::optional<uint64_t> free_bytes;       // of the device, when it failed
  std::optional<uint64_t> capacity_bytes;   // of the device or of the pool that failed
  std::optional<uint64_t> live_bytes;       // in use by the framework
  std::optional<uint64_t> idle_bytes;       // reserved by it and not in use
  std::optional<uint64_t> outside_bytes;    // of this process, but not of the framework's allocator
  std::optional<uint64_t> neighbour_bytes;  // other processes on the device
  std::optional<uint64_t> private_pool_bytes;
  std::optional<uint64_t> cap_bytes;  // a limit below the device's capacity
  std::optional<uint64_t> largest_hole_bytes;
  std::optional<uint64_t> short_by_bytes;
  OomVerdict verdict = OomVerdict::kMasked;
  std::string text;                 // sentences; the first says what happened
  std::vector<OomRemedy> remedies;  // the smallest change that would have fitted first
  std::vector<OomDetail> details;
  std::vector<OomMissing> missing;
  std::string where;   // rank or worker that printed it, operation, program; empty = not said
  uint32_t line = 0;   // of the text, 1-based; 0 for a snapshot
  uint32_t count = 1;  // how often the same report occurs
};

}  // namespace memstrata
