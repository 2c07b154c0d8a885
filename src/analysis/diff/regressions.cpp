#include "analysis/diff/regressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

std::string NameOf(const Store& store, StackId stack) {
  if (stack.value == 0) return "memory without a stack";
  const FrameTable& table = store.stacks.frames();
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const size_t useful = UsefulFrameIndex(store, frames);
  const FrameId frame = frames[useful];
  const std::string operator_name = OperatorName(store, frames, useful);
  const std::string function = (operator_name.empty() ? "" : operator_name + " in ") +
                               ShortFunctionName(store.String(table.function[frame.value]));
  const std::string_view file = store.String(table.file[frame.value]);
  return file.empty() ? function : fmt::format("{} ({})", function, ShortPath(file));
}

std::string NameOf(const PeakHoldings& recording, const DiffRow& row, bool is_by_category) {
  return is_by_category ? fmt::format("{} memory", kCategoryNames[static_cast<size_t>(row.category)])
                        : NameOf(*recording.store, row.stack);
}

// Rows of one name and purpose are one to a reader, who could not tell them apart: a call that moved to another caller
// neither grew nor is it gone.
std::vector<DiffRow> JoinRowsOfOneName(std::span<const PeakHoldings> recordings, const HeapDiff& diff) {
  std::map<std::pair<std::string, Category>, size_t> places;
  std::vector<DiffRow> joined;
  for (const DiffRow& row : diff.rows) {
    const std::string name = NameOf(recordings[row.recording], row, diff.is_by_category);
    const auto [place, is_new] = places.try_emplace({name, row.category}, joined.size());
    if (is_new) {
      joined.push_back(row);
      continue;
    }
    std::vector<uint64_t>& bytes = joined[place->second].bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] += row.bytes[i];
  }
  std::stable_sort(joined.begin(), joined.end(),
                   [](const DiffRow& a, const DiffRow& b) { return a.SpreadBytes() > b.SpreadBytes(); });
  return joined;
}

std::string Amount(int64_t delta_bytes) { return FormatBytes(static_cast<uint64_t>(std::abs(delta_bytes))); }

// Where most of a change lies, when it is one jump; 0 = nowhere in particular. A jump is that to recording i.
size_t JumpOf(const std::vector<uint64_t>& bytes) {
  const int64_t delta_bytes = static_cast<int64_t>(bytes.back()) - static_cast<int64_t>(bytes.front());
  for (size_t i = 1; i < bytes.size(); ++i) {
    const int64_t step_bytes = static_cast<int64_t>(bytes[i]) - static_cast<int64_t>(bytes[i - 1]);
    const bool same_sign = (step_bytes < 0) == (delta_bytes < 0);
    if (same_sign && std::abs(step_bytes) * 10 >= std::abs(delta_bytes) * 9) return i;
  }
  return 0;
}

std::string When(const std::vector<uint64_t>& bytes) {
  if (bytes.size() < 3 || bytes.front() == bytes.back()) return "";
  if (const size_t jump = JumpOf(bytes); jump > 0) return fmt::format(" from recording {} to {}", jump, jump + 1);
  const bool rises = std::is_sorted(bytes.begin(), bytes.end());
  const bool falls = std::is_sorted(bytes.rbegin(), bytes.rend());
  return rises || falls ? " step by step" : " with ups and downs";
}

// Of a row of recordings one in the middle may be the highest: what it holds more than the first.
void DescribeHighest(std::span<const PeakHoldings> recordings, const HeapDiff& diff,
                     std::vector<Regression>& sentences) {
  const auto highest = std::max_element(diff.peak_bytes.begin(), diff.peak_bytes.end());
  const auto index = static_cast<size_t>(highest - diff.peak_bytes.begin());
  const uint64_t at_ends = std::max(diff.peak_bytes.front(), diff.peak_bytes.back());
  if (*highest * 10 < at_ends * 11) return;
  const auto rise_of = [&](const DiffRow& row) {
    return static_cast<int64_t>(row.bytes[index]) - static_cast<int64_t>(row.BeforeBytes());
  };
  const auto most = std::max_element(diff.rows.begin(), diff.rows.end(),
                                     [&](const DiffRow& a, const DiffRow& b) { return rise_of(a) < rise_of(b); });
  const auto rise_bytes = static_cast<int64_t>(*highest - diff.peak_bytes.front());
  sentences.push_back(
      {fmt::format("Recording {} is the highest, with {}: {} more than the first, {} of it {} ({}).", index + 1,
                   FormatBytes(*highest), FormatBytes(rise_bytes), FormatBytes(rise_of(*most)),
                   NameOf(recordings[most->recording], *most, diff.is_by_category),
                   kCategoryNames[static_cast<size_t>(most->category)]),
       rise_bytes});
}

}  // namespace

std::vector<Regression> DescribeDiff(std::span<const PeakHoldings> recordings, const HeapDiff& diff, size_t most_count,
                                     const DiffWords& words) {
  const int64_t delta_bytes = diff.DeltaBytes();
  std::vector<Regression> sentences;
  if (delta_bytes == 0) {
    const bool is_flat = std::all_of(diff.peak_bytes.begin(), diff.peak_bytes.end(),
                                     [&](uint64_t bytes) { return bytes == diff.peak_bytes.front(); });
    sentences.push_back({is_flat ? "The live peaks are equal." : "The first and the last live peak are equal.", 0});
  } else {
    sentences.push_back({fmt::format("The live peak {} by {}{}.", delta_bytes > 0 ? "grows" : "falls",
                                     Amount(delta_bytes), When(diff.peak_bytes)),
                         delta_bytes});
  }
  if (diff.is_by_category)
    sentences.push_back({"Not all recordings have call stacks: blocks are matched by their purpose alone.", 0});
  DescribeHighest(recordings, diff, sentences);
  // Of equal peaks, what makes a thousandth of them.
  const auto noise_bytes = static_cast<int64_t>(diff.peak_bytes.back() / 1000);
  const int64_t least_bytes = std::max<int64_t>({1, std::abs(delta_bytes) / 10, delta_bytes == 0 ? noise_bytes : 0});
  for (const DiffRow& row : JoinRowsOfOneName(recordings, diff)) {
    if (sentences.size() > most_count) break;
    if (std::abs(row.DeltaBytes()) < least_bytes) continue;
    const std::string name = NameOf(recordings[row.recording], row, diff.is_by_category);
    const std::string_view category = kCategoryNames[static_cast<size_t>(row.category)];
    const std::string what = row.BeforeBytes() == 0 ? fmt::format("{} {}", name, words.only_last)
                             : row.AfterBytes() == 0
                                 ? fmt::format("{} {}", name, words.only_first)
                                 : fmt::format("{} {}", name, row.DeltaBytes() > 0 ? words.more : words.less);
    sentences.push_back(
        {fmt::format("{}: {} {} ({}, {} to {}){}.", what, row.DeltaBytes() > 0 ? "+" : "-", Amount(row.DeltaBytes()),
                     category, FormatBytes(row.BeforeBytes()), FormatBytes(row.AfterBytes()), When(row.bytes)),
         row.DeltaBytes()});
  }
  return sentences;
}

}  // namespace memstrata
