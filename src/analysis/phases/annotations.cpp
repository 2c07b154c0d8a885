#include "analysis/phases/annotations.h"

#include <algorithm>
#include <optional>

namespace memstrata {
namespace {

struct NamedPhase {
  std::string_view word;
  Phase phase;
};

constexpr NamedPhase kPrefixes[] = {
    {"Optimizer.step#", Phase::kOptimizer},
    {"Optimizer.zero_grad#", Phase::kZeroGrad},
};
constexpr NamedPhase kWords[] = {
    {"load", Phase::kLoad},           {"input", Phase::kInput},     {"data", Phase::kInput},
    {"forward", Phase::kForward},     {"loss", Phase::kLoss},       {"backward", Phase::kBackward},
    {"recompute", Phase::kRecompute}, {"clip", Phase::kClip},       {"optimizer", Phase::kOptimizer},
    {"zero_grad", Phase::kZeroGrad},  {"eval", Phase::kEval},       {"evaluation", Phase::kEval},
    {"validation", Phase::kEval},     {"prefill", Phase::kPrefill}, {"decode", Phase::kDecode},
};

std::string_view Trimmed(std::string_view name) {
  constexpr std::string_view kFrame = "# \t*-=[]";
  const size_t first = name.find_first_not_of(kFrame);
  return first == std::string_view::npos ? "" : name.substr(first, name.find_last_not_of(kFrame) - first + 1);
}

std::optional<Phase> PhaseNamedBy(std::string_view name) {
  for (const NamedPhase& prefix : kPrefixes) {
    if (name.starts_with(prefix.word)) return prefix.phase;
  }
  for (const NamedPhase& word : kWords) {
    if (Trimmed(name) == word.word) return word.phase;
  }
  return std::nullopt;
}

// Whether a span lies in the events of this heap.
bool IsPlaced(const Store& store, uint32_t row, const Heap& heap) {
  const SpanTable& spans = store.spans;
  const auto index = static_cast<uint32_t>(&heap - store.heaps.data());
  return spans.heap[row] == index && spans.begin_seq[row] != kNone && spans.end_seq[row] != kNone &&
         spans.begin_seq[row] < spans.end_seq[row] && spans.end_seq[row] <= heap.events.size();
}

}  // namespace

bool LabelByAnnotations(const Store& store, const Heap& heap, std::vector<Phase>& phases) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < store.spans.size(); ++row) {
    if (IsPlaced(store, row, heap) && PhaseNamedBy(store.String(store.spans.name[row]))) rows.push_back(row);
  }
  // The innermost annotation decides.
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return store.spans.depth[a] < store.spans.depth[b]; });
  for (const uint32_t row : rows) {
    std::fill(phases.begin() + store.spans.begin_seq[row], phases.begin() + store.spans.end_seq[row],
              *PhaseNamedBy(store.String(store.spans.name[row])));
  }
  return !rows.empty();
}

std::vector<uint32_t> StepsByAnnotations(const Store& store, const Heap& heap) {
  std::vector<uint32_t> begins;
  for (uint32_t row = 0; row < store.spans.size(); ++row) {
    if (IsPlaced(store, row, heap) && store.String(store.spans.name[row]).starts_with("ProfilerStep#"))
      begins.push_back(store.spans.begin_seq[row]);
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins.size() < 2 ? std::vector<uint32_t>() : begins;
}

}  // namespace memstrata
