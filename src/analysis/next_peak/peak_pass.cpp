#include "analysis/next_peak/peak_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/bands/bands.h"
#include "analysis/growth/growth.h"
#include "analysis/next_peak/next_peak.h"
#include "base/units.h"

namespace memstrata {
namespace {

/// What a program can do to be rid of a category, the easiest first.
struct Way {
  Category category;
  std::string_view text;
};
constexpr Way kWays[] = {
    {Category::kLogits, "A loss fused with the last layer does not make the logits"},
    {Category::kTemporary, "Fused operators make fewer temporaries"},
    {Category::kActivation, "Checkpointing or a smaller batch lowers the activations"},
    {Category::kKvCache, "Shorter contexts or fewer requests lower the KV cache"},
    {Category::kGradient, "Gradients dropped before the next forward do not lie under it"},
    {Category::kOptimizerState, "A sharded or low-precision optimizer lowers its state"},
};

std::string HoldersOf(const std::vector<Band>& bands, uint64_t peak_bytes) {
  if (const std::string known = HoldersOfThePeak(bands, peak_bytes); !known.empty()) return "; " + known + ".";
  const Band& maker = MakerOfThePeak(bands, peak_bytes);
  if (maker.category == Category::kUnknown) return "; the recording does not tell which kinds of memory hold it.";
  return fmt::format("; {} of it is of unknown kind, {} {} {}.", FormatBytes(bands.front().at_peak_bytes),
                     CategoryWords(maker.category), HoldOrHolds(maker.category), FormatBytes(maker.at_peak_bytes));
}

// The update and the backward need gradients; only before them they may be gone.
bool Applies(const Way& way, const HeapAnalysis& analysis) {
  if (way.category != Category::kGradient || analysis.peak.moment.seq() == kNone) return true;
  const Phase phase = analysis.timeline.phase_of_event[analysis.peak.moment.seq()];
  return IsForwardOrEval(phase) || phase == Phase::kInput;
}

// The easiest way that lowers the peak by much.
std::string Remedy(const HeapAnalysis& analysis, const std::vector<Band>& bands) {
  for (const Way& way : kWays) {
    if (!Applies(way, analysis)) continue;
    const auto band =
        std::find_if(bands.begin(), bands.end(), [&](const Band& of_peak) { return of_peak.category == way.category; });
    if (band == bands.end() || band->at_peak_bytes * 10 < analysis.peak.bytes) continue;  // it cannot gain more
    const NextPeak next = FindPeakWithout(analysis, way.category);
    if (next.gain_bytes * 10 < analysis.peak.bytes) continue;
    return fmt::format("{}: without them the peak is {} ({} less), {}.", way.text, FormatBytes(next.peak.bytes),
                       FormatBytes(next.gain_bytes), PlaceOf(analysis, next.peak.moment));
  }
  return "";
}

// A device that is named or known and smaller than what the run needs.
std::optional<Finding> TooSmallDevice(const HeapAnalysis& analysis) {
  if (analysis.device.capacity_bytes == kUnknownBytes || analysis.peak.bytes <= analysis.device.capacity_bytes)
    return std::nullopt;
  Finding finding;
  finding.id = "device_too_small";
  finding.severity = FindingSeverity::kError;
  finding.text = fmt::format("The peak, {}, does not fit on a device of {}: {} too much for what is live alone.",
                             FormatBytes(analysis.peak.bytes), FormatBytes(analysis.device.capacity_bytes),
                             FormatBytes(analysis.peak.bytes - analysis.device.capacity_bytes));
  finding.bytes = analysis.peak.bytes - analysis.device.capacity_bytes;
  if (analysis.peak.moment.seq() != kNone) finding.evidence.begin_seq = analysis.peak.moment.seq();
  return finding;
}

}  // namespace

std::vector<Finding> ReportPeak(const HeapAnalysis& analysis) {
  const std::vector<Band> bands = FindBands(analysis);
  if (analysis.peak.bytes == 0 || bands.empty()) return {};
  // The summary of a profile says who holds its peak; a job of hundreds of hosts has thousands of heaps.
  if (analysis.store->HasXPlaneDetails(*analysis.heap)) return {};
  const Band& maker = MakerOfThePeak(bands, analysis.peak.bytes);
  Finding finding;
  finding.id = "peak";
  const bool is_lower_bound = analysis.heap->lower_bound != LowerBoundReason::kExact;
  finding.text = analysis.HasAllocationEvents()
                     ? fmt::format("The peak, {}{}, lies {}", is_lower_bound ? "at least " : "",
                                   FormatBytes(analysis.peak.bytes), PlaceOf(analysis, analysis.peak.moment))
                     : fmt::format("At the end {} are live", FormatBytes(analysis.peak.bytes));
  finding.text += HoldersOf(bands, analysis.peak.bytes);
  finding.bytes = analysis.peak.bytes;
  // What steps leave behind is a fault of its own, with its own remedy.
  const GrowthKind growth = analysis.growth.kind;
  const bool is_left_behind =
      growth == GrowthKind::kLeak || growth == GrowthKind::kOneOff || growth == GrowthKind::kSawtooth;
  if (!is_left_behind) finding.remedy = Remedy(analysis, bands);
  finding.evidence.begin_seq = analysis.peak.moment.seq();
  finding.evidence.stack = maker.largest_stack;
  if (analysis.peak.moment.seq() == kNone) finding.evidence.begin_seq.reset();
  std::vector<Finding> findings = {std::move(finding)};
  if (auto too_small = TooSmallDevice(analysis)) findings.push_back(std::move(*too_small));
  return findings;
}

}  // namespace memstrata
