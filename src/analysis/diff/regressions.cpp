#include "analysis/diff/regressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

std::string NameOf(const Store& store, StackId stack) {
  if (stack.value == 0) return "memory without a stack";
  const FrameTable& table = store.stacks.frames();
  const FrameId frame = UsefulFrame(store, stack);
  const std::string function = ShortFunctionName(store.String(table.function[frame.value]));
  const std::string_view file = store.String(table.file[frame.value]);
  return file.empty() ? function : fmt::format("{} ({})", function, ShortPath(file));
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

}  // namespace

std::vector<Regression> DescribeDiff(std::span<const HeapAnalysis> recordings, const HeapDiff& diff, size_t most_count,
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
  const int64_t least_bytes = std::max<int64_t>(1, std::abs(delta_bytes) / 10);
  for (const DiffRow& row : diff.rows) {
    if (sentences.size() > most_count || std::abs(row.DeltaBytes()) < least_bytes) break;
    const std::string name = NameOf(*recordings[row.recording].store, row.stack);
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
