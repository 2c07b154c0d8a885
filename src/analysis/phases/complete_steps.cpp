#include "analysis/phases/complete_steps.h"

#include <algorithm>
#include <array>
#include <optional>

namespace memstrata {
namespace {

enum class Part : uint8_t { kForward, kBackward, kUpdate };
constexpr size_t kPartCount = 3;

std::optional<Part> PartOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
    case Phase::kLoss:
      return Part::kForward;
    case Phase::kBackward:
    case Phase::kRecompute:
      return Part::kBackward;
    case Phase::kOptimizer:
      return Part::kUpdate;
    default:
      return std::nullopt;
  }
}

using Parts = std::array<bool, kPartCount>;

}  // namespace

void MarkIncompleteSteps(const Store& store, const Heap& heap, Timeline& timeline) {
  std::vector<Parts> parts(timeline.steps.size(), Parts{});
  for (const PhaseSpan& span : timeline.phases) {
    const std::optional<Part> part = PartOf(span.phase);
    if (part && span.step != kNone) parts[span.step][static_cast<size_t>(*part)] = true;
  }
  Parts usual{};
  for (size_t part = 0; part < kPartCount; ++part) {
    const auto count = std::count_if(parts.begin(), parts.end(), [&](const Parts& of_step) { return of_step[part]; });
    usual[part] = static_cast<size_t>(count) * 2 > parts.size();
  }
  for (size_t step = 0; step < parts.size(); ++step) {
    bool lacks = false;
    for (size_t part = 0; part < kPartCount; ++part) lacks = lacks || (usual[part] && !parts[step][part]);
    timeline.steps[step].is_complete = !lacks;
  }
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t step = timeline.step_of_event[seq];
    if (step == kNone || store.events.kind[heap.events.begin + seq] != EventKind::kOutOfMemory) continue;
    if (!parts[step][static_cast<size_t>(Part::kUpdate)]) timeline.steps[step].is_complete = false;
  }
}

}  // namespace memstrata
