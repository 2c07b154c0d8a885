#pragma once
// An analysis pass: one question about a heap, answered in findings. Passes are listed in analysis/registry.cpp; text,
// JSON and the page show whatever they return, so that a new pass is visible everywhere at once.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heap_analysis.h"

namespace memstrata {

/// How a number of a finding came about.
enum class Confidence : uint8_t {
  kComputed,  // follows exactly from recorded events
  kMeasured,  // read from the recording as the allocator counted it
  kAssumed,   // rests on a rule about how programs behave
};
inline constexpr std::string_view kConfidenceNames[] = {"computed", "measured", "assumed"};

enum class FindingSeverity : uint8_t { kInfo, kWarning, kError };
inline constexpr std::string_view kFindingSeverityNames[] = {"info", "warning", "error"};

/// Where to look for what a finding says.
struct Evidence {
  std::optional<uint32_t> begin_seq;
  std::optional<uint32_t> end_seq;
  StackId stack{0};  // 0 = none
};

struct Finding {
  std::string id;  // stable, snake_case
  FindingSeverity severity = FindingSeverity::kInfo;
  std::string text;               // one sentence with its number
  std::optional<uint64_t> bytes;  // at stake
  Confidence confidence = Confidence::kComputed;
  std::string remedy;  // empty = none
  Evidence evidence;
};

struct PassInfo {
  std::string_view id;
  std::string_view question;
  std::vector<Finding> (*run)(const HeapAnalysis& analysis);
};

/// The one list, in the order in which findings of equal urgency are shown.
std::span<const PassInfo> AllPasses();

/// The more severe one is; of equal ones that which tells what to do.
bool IsMoreUrgent(const Finding& a, const Finding& b);

/// Findings of all passes, the most urgent first. cost: O(events + allocations) a pass
std::vector<Finding> RunPasses(const HeapAnalysis& analysis);

}  // namespace memstrata
