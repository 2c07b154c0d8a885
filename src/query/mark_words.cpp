#include "query/mark_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace memstrata {
namespace {

// How the bytes of a mark read: an amount that is there, that comes, or that goes.
enum class Amount : uint8_t { kThere, kAdded, kRemoved };

struct Form {
  std::string_view name;
  Amount amount;
  int rank;
  std::string_view detail;  // "{}" stands for the count of the mark, see docs/explanation/marks.md
  std::string_view detail_of_one = "";
  std::string_view detail_without_count = "";
};

Form FormOf(MarkKind kind) {
  switch (kind) {
    case MarkKind::kConstantBand:
      return {"Constant band", Amount::kThere, 9, "in every step"};
    case MarkKind::kForwardRamp:
      return {"Forward ramp",          Amount::kAdded,         2,
              "{} saved layer inputs", "{} saved layer input", "kept for the backward"};
    case MarkKind::kAutocastCopies:
      return {"Autocast weight copies", Amount::kThere, 5, "{} copies in low precision", "{} copy in low precision"};
    case MarkKind::kSoftmaxSpike:
      return {"Softmax spike", Amount::kThere, 4, "its input and its result, together"};
    case MarkKind::kLogitsSlab:
      return {"Logits",
              Amount::kThere,
              1,
              "the largest of {} such blocks",
              "the scores of the loss",
              "the scores of the loss"};
    case MarkKind::kZeroGradSlope:
      return {"zero_grad", Amount::kRemoved, 2, "frees {} gradients", "frees {} gradient"};
    case MarkKind::kBackwardStartSpike:
      return {"Start of backward", Amount::kThere, 3, "{} as large as the logits", "as large as the logits"};
    case MarkKind::kBackwardCliff:
      return {"Backward cliff", Amount::kRemoved, 4, "activations are given back"};
    case MarkKind::kHeadGradient:
      return {"Gradient of the head", Amount::kThere, 5, "the first of the backward"};
    case MarkKind::kEmbeddingGradient:
      return {"Gradient of the embedding", Amount::kThere, 4, "the last of the backward"};
    case MarkKind::kGradientRamp:
      return {"Gradients", Amount::kAdded, 7, "{} tensors", "{} tensor"};
    case MarkKind::kRecomputeRipple:
      return {"Recompute ripples", Amount::kThere, 3, "{} calls, one ripple each", "{} call"};
    case MarkKind::kOptimizerStateInit:
      return {"Optimizer state created", Amount::kAdded, 3, "made by the first update"};
    case MarkKind::kForeachTemporaries:
      return {"Update temporaries", Amount::kAdded, 3, "for all parameters at once"};
    case MarkKind::kOptimizerFlagpole:
      return {"Top of the update", Amount::kAdded, 8, "the last temporary of the update"};
    case MarkKind::kGrowth:
      return {"Growth per step", Amount::kAdded, 0, "that nothing gives back"};
    case MarkKind::kCacheGrowth:
      return {"Cache growth per step", Amount::kAdded, 0, "over {} steps of a generation"};
    case MarkKind::kSawtooth:
      return {"Sawtooth", Amount::kThere, 0, "something is freed late"};
    case MarkKind::kOneOffStep:
      return {"One step differs", Amount::kAdded, 1, "later steps add nothing"};
    case MarkKind::kPoolGrowth:
      return {"Reserved memory grows", Amount::kAdded, 1, "while live memory does not"};
    case MarkKind::kFlat:
      return {"Flat", Amount::kThere, 9, "every step starts alike"};
    case MarkKind::kAnnotation:
      return {"Annotation", Amount::kThere, 9, ""};
  }
  return {};
}

std::string AmountText(Amount amount, uint64_t bytes) {
  const std::string size = FormatBytes(bytes);
  if (amount == Amount::kThere || bytes == 0) return size;
  return (amount == Amount::kAdded ? "+" : "\u2212") + size;
}

std::string DetailText(const Form& form, const Mark& mark) {
  // An annotation is told by its own words.
  if (form.detail.empty()) return mark.text;
  std::string_view detail = form.detail;
  if (!mark.count && !form.detail_without_count.empty()) detail = form.detail_without_count;
  if (mark.count == 1 && !form.detail_of_one.empty()) detail = form.detail_of_one;
  const size_t place = detail.find("{}");
  if (place == std::string_view::npos) return std::string(detail);
  const std::string count = mark.count ? FormatCount(*mark.count) : "–";
  return fmt::format("{}{}{}", detail.substr(0, place), count, detail.substr(place + 2));
}

MarkWords WordsOfCliff(const Form& form, const Mark& mark) {
  return {std::string(form.name),
          fmt::format("{}, {} in {}", form.name, AmountText(form.amount, mark.fall.bytes),
                      FormatCount(mark.fall.end_seq - mark.fall.begin_seq, "event")),
          fmt::format("{} of activations in all", AmountText(form.amount, mark.bytes))};
}

}  // namespace

MarkWords WordsOf(const Mark& mark) {
  const Form form = FormOf(mark.kind);
  if (mark.kind == MarkKind::kBackwardCliff) return WordsOfCliff(form, mark);
  return {std::string(form.name), fmt::format("{}, {}", form.name, AmountText(form.amount, mark.bytes)),
          DetailText(form, mark)};
}

int LabelRank(MarkKind kind) { return FormOf(kind).rank; }

}  // namespace memstrata
