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
constexpr std::string_view kStepWords[] = {"ProfilerStep", "step", "train_step", "training_step", "iteration"};

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

// "ProfilerStep#3", "train_step 12", "step".
bool NamesStep(std::string_view name) {
  std::string_view trimmed = Trimmed(name);
  trimmed = trimmed.substr(0, trimmed.find_last_not_of("0123456789 #:_-") + 1);
  return std::find(std::begin(kStepWords), std::end(kStepWords), trimmed) != std::end(kStepWords);
}

// Whether a span lies in the events of this heap.
bool IsPlaced(const Store& store, uint32_t row, const Heap& heap) {
  const SpanTable& spans = store.spans;
  const auto index = static_cast<uint32_t>(&heap - store.heaps.data());
  return spans.heap[row] == index && spans.begin_seq[row] != kNone && spans.end_seq[row] != kNone &&
         spans.begin_seq[row] < spans.end_seq[row] && spans.end_seq[row] <= heap.events.size();
}

}  // namespace

std::vector<std::optional<Phase>> PhasesNamedByProgram(const Store& store, const Heap& heap) {
  std::vector<std::optional<Phase>> named(heap.events.size());
  std::vector<std::optional<Phase>> of_context;
  for (const EventContext& context : store.contexts)
    of_context.push_back(PhaseNamedBy(store.String(context.user_metadata)));
  for (uint32_t seq = 0; seq < named.size() && !store.events.context.empty(); ++seq) {
    const uint32_t context = store.events.context[heap.events.begin + seq];
    if (context < of_context.size()) named[seq] = of_context[context];
  }
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < store.spans.size(); ++row) {
    if (IsPlaced(store, row, heap) && PhaseNamedBy(store.String(store.spans.name[row]))) rows.push_back(row);
  }
  // The innermost annotation decides.
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return store.spans.depth[a] < store.spans.depth[b]; });
  for (const uint32_t row : rows) {
    std::fill(named.begin() + store.spans.begin_seq[row], named.begin() + store.spans.end_seq[row],
              PhaseNamedBy(store.String(store.spans.name[row])));
  }
  return named;
}

std::vector<uint32_t> StepsByAnnotations(const Store& store, const Heap& heap) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < store.spans.size(); ++row) {
    if (IsPlaced(store, row, heap) && NamesStep(store.String(store.spans.name[row]))) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [&](uint32_t a, uint32_t b) { return store.spans.begin_seq[a] < store.spans.begin_seq[b]; });
  std::vector<uint32_t> begins;
  uint32_t end = 0;
  for (const uint32_t row : rows) {
    if (store.spans.begin_seq[row] < end) continue;  // within a step that is named already
    begins.push_back(store.spans.begin_seq[row]);
    end = store.spans.end_seq[row];
  }
  return begins.size() < 2 ? std::vector<uint32_t>() : begins;
}

}  // namespace memstrata
