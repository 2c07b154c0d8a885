#include "report/picture/phase_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr double kRowHeight = 16;
constexpr double kRowGap = 2;
constexpr double kPadding = 5;

size_t ToneOf(Phase phase) {
  switch (phase) {
    case Phase::kInput:
    case Phase::kForward:
    case Phase::kLoss:
    case Phase::kPrefill:
    case Phase::kDecode:
    case Phase::kEval:
      return 0;
    case Phase::kBackward:
    case Phase::kRecompute:
      return 1;
    default:
      return 2;
  }
}

// The full name, a short one or none, whichever fits.
std::string_view NameThatFits(Phase phase, double width) {
  static constexpr std::string_view kShort[] = {"load", "in",   "fwd",  "loss",    "bwd",    "bwd", "clip",
                                                "opt",  "zero", "eval", "prefill", "decode", ""};
  const std::string_view full = phase == Phase::kOther ? "" : kPhaseNames[static_cast<size_t>(phase)];
  if (TextWidth(full, 12, FontWeight::kRegular) + 2 * kPadding <= width) return full;
  const std::string_view brief = kShort[static_cast<size_t>(phase)];
  return TextWidth(brief, 12, FontWeight::kRegular) + kPadding <= width ? brief : "";
}

// A backward with its recomputes is one span.
std::vector<PhaseSpan> MergedSpans(const HeapExplained& explained, const PictureWindow& window) {
  std::vector<PhaseSpan> merged;
  for (PhaseSpan span : explained.analysis.timeline.phases) {
    span.begin_seq = std::max(span.begin_seq, window.begin_seq);
    span.end_seq = std::min(span.end_seq, window.end_seq);
    if (span.begin_seq >= span.end_seq) continue;
    if (span.phase == Phase::kRecompute) span.phase = Phase::kBackward;
    const bool continues = !merged.empty() && merged.back().phase == span.phase && merged.back().step == span.step;
    if (continues) {
      merged.back().end_seq = span.end_seq;
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

void DrawStep(const StepExplained& step, uint32_t index, const PictureWindow& window, const Plot& plot, double top,
              const Theme& theme, Canvas& canvas) {
  const double left = plot.X(std::max(step.span.begin_seq, window.begin_seq));
  const double right = plot.X(std::min(step.span.end_seq, window.end_seq));
  canvas.Rectangle({left + 0.5, top}, std::max(0.5, right - left - 1), kRowHeight, theme.sunken);
  const std::string name = fmt::format("step {}", index);
  const std::string peak = fmt::format("peak {}", FormatBytes(step.peak_live_bytes));
  const double name_width = TextWidth(name, 12, FontWeight::kBold);
  if (name_width + 2 * kPadding > right - left) return;
  canvas.Text({left + kPadding, top + 12}, name, {12, theme.ink, FontWeight::kBold, TextAnchor::kStart});
  if (name_width + TextWidth(peak, 12, FontWeight::kRegular) + 5 * kPadding > right - left) return;
  canvas.Text({right - kPadding, top + 12}, peak, {12, theme.ink2, FontWeight::kRegular, TextAnchor::kEnd});
}

}  // namespace

void DrawPhaseRows(const HeapExplained& explained, const PictureWindow& window, const Plot& plot, double top,
                   const Theme& theme, Canvas& canvas) {
  for (uint32_t i = 0; i < explained.steps.size(); ++i) {
    const StepSpan& span = explained.steps[i].span;
    if (span.begin_seq >= window.end_seq || span.end_seq <= window.begin_seq) continue;
    DrawStep(explained.steps[i], i, window, plot, top, theme, canvas);
    const double x = plot.X(std::max(span.begin_seq, window.begin_seq));
    canvas.Line({x, plot.area().top}, {x, plot.area().bottom()}, {theme.ink3.Faded(0.6), 1, 1.5, 3});
  }
  const double phase_top = top + kRowHeight + kRowGap;
  for (const PhaseSpan& span : MergedSpans(explained, window)) {
    const double left = plot.X(span.begin_seq);
    const double right = plot.X(span.end_seq);
    canvas.Rectangle({left + 0.5, phase_top}, std::max(0.5, right - left - 1), kRowHeight,
                     theme.phases[ToneOf(span.phase)]);
    const std::string_view name = NameThatFits(span.phase, right - left);
    const double padding = std::min(kPadding, (right - left - TextWidth(name, 12, FontWeight::kRegular)) / 2);
    if (!name.empty()) canvas.Text({left + padding, phase_top + 12}, name, {12, theme.ink});
  }
}

}  // namespace memstrata
