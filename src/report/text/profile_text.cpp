#include "report/text/profile_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/summary_text.h"

namespace memstrata {
namespace {

constexpr size_t kLabelWidth = 18;

class ProfileTextWriter {
 public:
  ProfileTextWriter(const Store& store, const HeapSummary& heap, const TextStyle& style, size_t width,
                    std::set<std::string>& said)
      : store_(store), heap_(heap), profile_(*heap.profile), style_(style), width_(width), said_(said) {}

  std::string Write() {
    WritePeak();
    WriteHolders();
    WritePrograms();
    WriteSentences("What would make room", profile_.help.sentences);
    WriteSentences("What this means", profile_.notes);
    WriteSentences("Where XProf shows something else", profile_.xprof_differences);
    return std::move(out_);
  }

 private:
  void Line(std::string_view label, std::string_view text) {
    out_ += fmt::format("  {}{}\n", PadRight(label, kLabelWidth), text);
  }

  void WritePeak() {
    const Moment peak = Moment::AfterEvent(profile_.peak_seq);
    Line("Peak used", style_.Bold(FormatBytes(profile_.used_bytes)) + "  " + DescribeMoment(store_, heap_, peak) +
                          style_.Dim("  (stack + heap)"));
    std::string parts =
        fmt::format("{} stack + {} heap", FormatBytes(profile_.stack_bytes), FormatBytes(profile_.heap_bytes));
    if (profile_.capacity_bytes) {
      parts += fmt::format(" + {} free = {} capacity", FormatBytes(*profile_.free_bytes),
                           FormatBytes(*profile_.capacity_bytes));
      if (profile_.utilization) parts += fmt::format(", {} used", FormatPercent(*profile_.utilization));
    }
    if (profile_.tied_count > 0) Line("", fmt::format("reached {} more", FormatCount(profile_.tied_count, "time")));
    Line("There", parts);
    Line("Fragmentation",
         FormatPercent(profile_.fragmentation) + (profile_.largest_request_bytes
                                                      ? fmt::format("; largest request that would succeed: {}",
                                                                    FormatBytes(*profile_.largest_request_bytes))
                                                      : ""));
    Line("Lifetime peak",
         FormatBytes(profile_.lifetime_peak_bytes) + style_.Dim("  (heap alone, since the allocator was made)"));
    if (profile_.step) Line("Step at the peak", FormatCount(static_cast<uint64_t>(*profile_.step)));
    Line("At the end", FormatBytes(heap_.end_live_bytes) + " heap");
    if (heap_.preexisting_bytes > 0)
      Line("Before recording", FormatBytes(heap_.preexisting_bytes) + " heap were live already");
  }

  std::string Describe(const ProfileHolder& holder) const {
    if (holder.is_other) return style_.Dim("everything else");
    if (!holder.name.empty()) return style_.Dim(holder.name);
    constexpr size_t kColumnsBefore = 38;
    constexpr size_t kShortestOperation = 24;
    std::string details;
    if (holder.data_type || holder.shape)
      details +=
          fmt::format("  {}{}", holder.data_type.value_or(""), holder.shape ? " " + Shorten(*holder.shape, 30) : "");
    if (holder.region_type) details += fmt::format("  ({})", Shorten(*holder.region_type, 16));
    if (holder.requested_bytes && static_cast<int64_t>(*holder.requested_bytes) != holder.bytes)
      details += fmt::format("  {} asked", FormatBytes(*holder.requested_bytes));
    if (!holder.op) return "no operation recorded" + details;
    const size_t taken = kColumnsBefore + DisplayWidth(details);
    return Shorten(*holder.op, std::max(kShortestOperation, width_ > taken ? width_ - taken : 0)) + details;
  }

  void WriteHolders() {
    const bool at_peak = heap_.holders_at.seq() == profile_.peak_seq;
    out_ += "\n  " +
            style_.Bold(at_peak ? "Who holds the peak"
                                : fmt::format("Who holds {} {}", FormatBytes(heap_.holders_bytes),
                                              DescribeMoment(store_, heap_, heap_.holders_at))) +
            "\n";
    for (const ProfileHolder& holder : profile_.holders) {
      const double share = heap_.ShareOf(holder.bytes);
      const std::string blocks = holder.block_count == 0 ? ""
                                                         : fmt::format("{} {}", FormatCount(holder.block_count),
                                                                       holder.block_count == 1 ? "block " : "blocks");
      out_ += fmt::format("  {}  {}  {}  {}\n", PadLeft(FormatBytes(holder.bytes), 9), PadLeft(FormatPercent(share), 7),
                          PadLeft(blocks, 12), Describe(holder));
    }
  }

  void WritePrograms() {
    constexpr size_t kMostPrograms = 5;
    constexpr size_t kMostExplained = 1;
    if (profile_.programs.empty()) return;
    out_ += "\n  " +
            style_.Bold(fmt::format("Programs on this heap: {}, the highest moment first", profile_.programs.size())) +
            style_.Dim("  (measured, planned)") + "\n";
    for (size_t i = 0; i < std::min(kMostPrograms, profile_.programs.size()); ++i) {
      const ProgramUse& use = profile_.programs[i];
      const ProgramRun& run = use.highest;
      const std::string planned = run.program == kNone ? "no plan" : FormatBytes(run.plan.total_bytes());
      out_ += fmt::format("  {}  {}  {}  {}\n", PadLeft(FormatBytes(run.used_bytes()), 9), PadLeft(planned, 9),
                          PadLeft(FormatCount(use.run_count, "run"), 12), Shorten(use.name, width_ - 44));
      if (i < kMostExplained) out_ += "    " + WrapLines(DescribeRun(run), width_ - 6, 6) + "\n";
    }
    if (profile_.programs.size() > kMostPrograms)
      out_ += fmt::format("  … and {} more\n", profile_.programs.size() - kMostPrograms);
  }

  void WriteSentences(std::string_view title, const std::vector<std::string>& sentences) {
    bool any = false;
    for (const std::string& sentence : sentences) {
      if (!said_.insert(sentence).second) continue;
      if (!any) out_ += fmt::format("\n  {}\n", style_.Bold(title));
      any = true;
      out_ += "  " + WrapLines(sentence, width_ - 4, 4) + "\n";
    }
  }

  const Store& store_;
  const HeapSummary& heap_;
  const ProfileSummary& profile_;
  const TextStyle& style_;
  size_t width_;
  std::set<std::string>& said_;
  std::string out_;
};

}  // namespace

std::string ProfileText(const Store& store, const HeapSummary& heap, const TextStyle& style, size_t width,
                        std::set<std::string>& said) {
  return ProfileTextWriter(store, heap, style, width, said).Write();
}

}  // namespace memstrata
