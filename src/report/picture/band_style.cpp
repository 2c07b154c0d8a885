#include "report/picture/band_style.h"

#include <algorithm>
#include <numeric>

#include "report/unknown_share.h"

namespace memstrata {
namespace {

// The colours of groups that are no categories, in the order of ui/src/base/palette.ts.
constexpr std::string_view kGroupColours[] = {"parameter", "activation", "gradient", "logits",       "optimizer_state",
                                              "temporary", "kv_cache",   "input",    "communication"};
constexpr size_t kLongestName = 44;

// Names of operations differ at their ends.
std::string ShortName(const std::string& name) {
  return name.size() <= kLongestName ? name : "…" + name.substr(name.size() - kLongestName);
}

BandStyle CategoryStyle(const Group& group, const Theme& theme) {
  const Theme::Category& of = theme.Of(group.key);
  // A tint of the same hue tells copies of weights from activations, and buffers from parameters.
  const bool is_tint = group.key == "autocast_copy" || group.key == "buffer";
  return {std::string(CategoryWords(CategoryFromLabel(group.key))), is_tint ? of.fill.Faded(0.65) : of.fill, of.text};
}

}  // namespace

GroupBy BandsOf(SessionIndex& session, HeapEntry& heap) {
  return IsMostlyUnknown(session, heap) ? GroupBy::kStack : GroupBy::kCategory;
}

std::vector<BandStyle> StylesOf(GroupBy bands, const Grouping& grouping, const Theme& theme) {
  std::vector<BandStyle> styles;
  if (bands == GroupBy::kCategory) {
    for (const Group& group : grouping.groups) styles.push_back(CategoryStyle(group, theme));
    return styles;
  }
  std::vector<size_t> order(grouping.groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return grouping.groups[a].bytes_at_peak > grouping.groups[b].bytes_at_peak;
  });
  styles.resize(order.size());
  size_t next = 0;
  for (const size_t index : order) {
    const Group& group = grouping.groups[index];
    const bool is_rest = group.key == "rest" || next >= std::size(kGroupColours);
    const Theme::Category& of = theme.Of(is_rest ? "unknown" : kGroupColours[next++]);
    styles[index] = {ShortName(group.label), of.fill, of.text};
  }
  return styles;
}

}  // namespace memstrata
