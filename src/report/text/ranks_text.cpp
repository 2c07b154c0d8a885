#include "report/text/ranks_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

std::string_view LargestCategory(const RankFigures& rank) {
  const auto largest = std::max_element(rank.at_peak.begin(), rank.at_peak.end());
  return *largest == 0 ? std::string_view{} : kCategoryNames[static_cast<size_t>(largest - rank.at_peak.begin())];
}

std::string CoordinatesText(const Coordinates& coordinates) {
  std::string text;
  for (const auto& [name, value] : coordinates) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace

Status WriteRanksText(const RanksAnswer& answer, const TextStyle& style, ByteSink& sink) {
  const auto width = static_cast<size_t>(std::clamp(style.width, 60, 140));
  std::string out;
  for (size_t i = 0; i < answer.sentences.size(); ++i) {
    const std::string text = WrapLines(answer.sentences[i], width, 2);
    out += (i == 0 ? style.Bold(text) : "  " + text) + "\n";
  }
  for (const Regression& difference : answer.differences) out += "  " + WrapLines(difference.text, width - 2, 4) + "\n";
  out += "\n" + style.Dim("  rank   live peak    reserved     at end  most at peak     coordinates  file") + "\n";
  for (size_t i = 0; i < answer.ranks.size(); ++i) {
    const RankFigures& rank = answer.ranks[i];
    const std::string row =
        fmt::format("  {}  {}  {}  {}  {}  {}  {}", PadLeft(rank.rank ? fmt::format("{}", *rank.rank) : "-", 4),
                    PadLeft(FormatBytes(rank.peak_live_bytes), 10),
                    PadLeft(rank.peak_reserved_bytes ? FormatBytes(*rank.peak_reserved_bytes) : "unknown", 10),
                    PadLeft(FormatBytes(rank.end_live_bytes), 9), PadRight(LargestCategory(rank), 15),
                    PadRight(CoordinatesText(rank.coordinates), 11), Shorten(rank.file, 40));
    out += (i == answer.comparison.worst && answer.ranks.size() > 1 ? style.Bold(row) : row) + "\n";
  }
  if (!answer.left_out.empty())
    out += fmt::format("\n{} of the folder left out: no recording.\n", FormatCount(answer.left_out.size(), "file"));
  return sink.Write(out);
}

}  // namespace memstrata
