#include "analysis/bands/bands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {

std::vector<Band> FindBands(const HeapAnalysis& analysis) {
  const AllocationTable& table = analysis.store->allocations;
  const uint32_t seq = analysis.peak.moment.seq();
  const uint32_t step = seq == kNone ? kNone : analysis.timeline.step_of_event[seq];
  const StepSpan span =
      step == kNone ? StepSpan{0, analysis.heap->events.size(), false} : analysis.timeline.steps[step];
  std::vector<Band> bands(std::size(kCategoryNames));
  std::vector<uint64_t> largest_bytes(bands.size(), 0);
  for (uint32_t row = analysis.heap->allocations.begin; row < analysis.heap->allocations.end; ++row) {
    const auto category = static_cast<size_t>(analysis.CategoryOf(row));
    Band& band = bands[category];
    if (IsLive(table, row, Moment{span.begin_seq}) && table.free_seq[row] >= span.end_seq)
      band.constant_bytes += table.size_bytes[row];
    if (!IsLive(table, row, analysis.peak.moment)) continue;
    band.at_peak_bytes += table.size_bytes[row];
    ++band.block_count;
    if (table.size_bytes[row] <= largest_bytes[category]) continue;
    largest_bytes[category] = table.size_bytes[row];
    band.largest_stack = table.stack[row];
  }
  for (size_t i = 0; i < bands.size(); ++i) bands[i].category = static_cast<Category>(i);
  std::erase_if(bands, [](const Band& band) { return band.at_peak_bytes == 0 && band.constant_bytes == 0; });
  std::stable_sort(bands.begin(), bands.end(),
                   [](const Band& a, const Band& b) { return a.at_peak_bytes > b.at_peak_bytes; });
  return bands;
}

const Band& MakerOfThePeak(const std::vector<Band>& bands, uint64_t peak_bytes) {
  const Band* maker = nullptr;
  for (const Band& band : bands) {  // largest first
    const bool comes_and_goes = band.category != Category::kParameter && band.category != Category::kBuffer &&
                                band.category != Category::kOptimizerState && band.category != Category::kWorkspace &&
                                band.category != Category::kUnknown;
    if (maker == nullptr && comes_and_goes && band.at_peak_bytes * 10 >= peak_bytes) maker = &band;
  }
  return maker == nullptr ? bands.front() : *maker;
}

std::string HoldersOfThePeak(const std::vector<Band>& bands, uint64_t peak_bytes) {
  const Band& most = bands.front();
  const Band& maker = MakerOfThePeak(bands, peak_bytes);
  if (most.category == Category::kUnknown) return "";
  std::string text = fmt::format("{} {} {} of it", CategoryWords(most.category), HoldOrHolds(most.category),
                                 FormatBytes(most.at_peak_bytes));
  if (maker.category != Category::kUnknown && maker.category != most.category)
    text += fmt::format(", {} {}", CategoryWords(maker.category), FormatBytes(maker.at_peak_bytes));
  return text;
}

}  // namespace memstrata
