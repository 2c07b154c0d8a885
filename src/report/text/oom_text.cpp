#include "report/text/oom_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"
#include "query/summary.h"
#include "report/text/program_text.h"

namespace memstrata {
namespace {

constexpr std::string_view kHoleKindTexts[] = {"in private pools", "in whole segments, which a flush gives back",
                                               "on streams that are no longer used", "in holes beside live blocks"};

constexpr size_t kMostBuffers = 10;

class OomText {
 public:
  OomText(const OomAnswer& answer, const TextStyle& style)
      : answer_(answer), style_(style), width_(static_cast<size_t>(std::clamp(style.width, 60, 140))) {}

  std::string Write() {
    for (const SnapshotOom& failure : answer_.failures) WriteFailure(failure);
    for (const OomReport& report : answer_.messages) WriteMessage(report);
    if (answer_.left_out_count > 0)
      out_ += fmt::format("{} before these are left out.\n", FormatCount(answer_.left_out_count, "failure"));
    if (answer_.failures.empty() && answer_.messages.empty()) {
      out_ += answer_.store != nullptr
                  ? NothingFailed(*answer_.store)
                  : "There is no out-of-memory message of a known format in this text; docs/formats/oom_texts.md lists "
                    "them.\n";
    }
    return std::move(out_);
  }

 private:
  std::string NothingFailed(const Store& store) const {
    if (!store.xplane.sources.empty()) return NearestToCapacity(store);
    if (!store.programs.empty()) {
      return "A plan makes no allocations that could fail; this is what it needs.\n" +
             ProgramsText(store, style_, width_, kMostBuffers);
    }
    const auto any_heap = [&](auto&& holds) { return std::any_of(store.heaps.begin(), store.heaps.end(), holds); };
    if (!any_heap([](const Heap& heap) { return heap.capabilities.has_events; }))
      return "The file holds no events: whether an allocation failed is not in it.\n";
    const bool keeps_last_event = !any_heap([](const Heap& heap) { return heap.events.size() > 1; });
    if (keeps_last_event)
      return WrapLines(
                 "Cannot tell: the recorder kept its last event only, as with enabled='state' and by default in old "
                 "versions of PyTorch. Record with enabled='all'.",
                 width_, 0) +
             "\n";
    if (!any_heap([](const Heap& heap) {
          return heap.lower_bound == LowerBoundReason::kRingOverflow ||
                 heap.lower_bound == LowerBoundReason::kTruncated;
        }))
      return "No allocation failed in this recording.\n";
    uint64_t event_count = 0;
    for (const Heap& heap : store.heaps) event_count += heap.events.size();
    return WrapLines(
               fmt::format("Cannot tell: no allocation failed in the {} that the file holds, but others are missing "
                           "from it (overwritten in a full buffer, or cut off), and one of those may have failed. "
                           "Record with a larger max_entries, or dump in an out-of-memory observer.",
                           FormatCount(event_count, "event")),
               width_, 0) +
           "\n";
  }

  // XLA's allocators report what they gave, never what they refused.
  std::string NearestToCapacity(const Store& store) const {
    std::string text =
        "An XPlane profile does not record allocations that failed: whether one did is not in it. The message of the "
        "failure tells more: pipe it into `memstrata oom -`.";
    text = WrapLines(text, width_, 0) + "\n";
    const Result<SummaryAnswer> summary = Summarize(store, {});
    const HeapSummary* fullest = nullptr;
    for (const HeapSummary& heap : summary ? std::span(summary->heaps) : std::span<const HeapSummary>()) {
      const auto used = [](const HeapSummary& of) { return of.profile ? of.profile->utilization.value_or(0) : 0; };
      if (used(heap) > 0 && (fullest == nullptr || used(heap) > used(*fullest))) fullest = &heap;
    }
    if (fullest == nullptr) return text;
    const ProfileSummary& profile = *fullest->profile;
    text += fmt::format("\n{}\n  {}\n", style_.Bold(fullest->heap->id),
                        WrapLines(fmt::format("The heap nearest to its capacity: {} of {} at its peak, {}.",
                                              FormatBytes(profile.used_bytes), FormatBytes(*profile.capacity_bytes),
                                              FormatPercent(*profile.utilization)),
                                  width_ - 4, 2));
    for (const std::string& sentence : profile.help.sentences) text += "  " + WrapLines(sentence, width_ - 4, 4) + "\n";
    return text;
  }

  void Heading(std::string_view name, const OomReport& report) {
    const std::string_view verdict = kOomVerdictNames[static_cast<size_t>(report.verdict)];
    out_ += fmt::format("{}  {}\n", style_.Bold(name),
                        report.verdict == OomVerdict::kNotExhaustion ? style_.Dim(verdict) : style_.Warn(verdict));
    out_ += "  " + WrapLines(report.text, width_ - 4, 2) + "\n";
  }

  void WriteRemedies(const OomReport& report) {
    if (report.remedies.empty()) return;
    out_ += fmt::format("\n  {}\n", style_.Bold("What would have let this request fit"));
    for (const OomRemedy& remedy : report.remedies) {
      const std::string fits = !remedy.would_fit ? "may fit" : *remedy.would_fit ? "fits" : "does not fit";
      out_ += fmt::format(
          "  {}  {}  {}\n", PadLeft(remedy.bytes ? FormatBytes(*remedy.bytes) : "", 10), PadRight(fits, 12),
          WrapLines(fmt::format("{} ({})", remedy.text, kRemedyBasisNames[static_cast<size_t>(remedy.basis)]),
                    width_ - 30, 28));
    }
  }

  void WriteMessage(const OomReport& report) {
    std::string name = fmt::format("line {}, {}", report.line, report.kind);
    if (!report.where.empty()) name += ", " + Shorten(report.where, 60);
    if (report.count > 1) name += fmt::format(", {} times", FormatCount(report.count));
    Heading(name, report);
    WriteRemedies(report);
    if (!report.details.empty()) {
      out_ += fmt::format("\n  {}\n", style_.Bold("Also in the text"));
      for (const OomDetail& detail : report.details) {
        const std::string value = detail.bytes    ? FormatBytes(*detail.bytes)
                                  : detail.number ? fmt::format("{}", *detail.number)
                                                  : "not usable";
        out_ += fmt::format("  {}  {}\n", PadLeft(value, 10), Shorten(detail.name, width_ - 16));
      }
    }
    for (const OomMissing& missing : report.missing) {
      out_ +=
          "\n  " +
          WrapLines(fmt::format("Missing: {}. {} {}", missing.what, missing.why, missing.how_to_get), width_ - 4, 2) +
          "\n";
    }
    out_ += "\n";
  }

  void WriteFailure(const SnapshotOom& failure) {
    Heading(fmt::format("{}, event {}", Shorten(failure.heap->id, 40), FormatCount(failure.seq)), failure.report);
    WriteRemedies(failure.report);
    out_ += fmt::format("\n  {}\n", style_.Bold("Who held the memory"));
    for (const Row& row : RowsOf(failure))
      out_ += fmt::format("  {}  {}  {}\n", PadLeft(FormatBytes(row.bytes), 10), PadRight(row.category, 15), row.name);
    if (failure.report.idle_bytes.value_or(0) > 0) {
      out_ += fmt::format("\n  {}\n", style_.Bold("Reserved and idle"));
      for (size_t kind = 0; kind < 4; ++kind) {
        if (failure.idle_kind_bytes[kind] == 0) continue;
        out_ +=
            fmt::format("  {}  {}\n", PadLeft(FormatBytes(failure.idle_kind_bytes[kind]), 10), kHoleKindTexts[kind]);
      }
    }
    out_ += "\n";
  }

  struct Row {
    uint64_t bytes = 0;
    std::string_view category;
    std::string name;
  };

  // Stacks that a reader cannot tell apart by the line that is shown are one row; the JSON holds each.
  std::vector<Row> RowsOf(const SnapshotOom& failure) const {
    std::vector<Row> rows;
    for (const Holder& holder : failure.holders) {
      Row row{holder.bytes, kCategoryNames[static_cast<size_t>(holder.category)], NameOf(holder)};
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& other) {
        return other.category == row.category && other.name == row.name;
      });
      if (same == rows.end()) {
        rows.push_back(std::move(row));
      } else {
        same->bytes += row.bytes;
      }
    }
    // What is left over stays last.
    const auto last = failure.holders.empty() || !failure.holders.back().is_other ? rows.end() : rows.end() - 1;
    std::stable_sort(rows.begin(), last, [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
    return rows;
  }

  std::string NameOf(const Holder& holder) const {
    if (holder.is_other) return "everything smaller";
    if (holder.is_preexisting) return "from before the recording";
    if (holder.stack.value == 0) return "no stack";
    const Store& store = *answer_.store;
    const FrameTable& table = store.stacks.frames();
    const FrameId frame = UsefulFrame(store, holder.stack);
    return Shorten(fmt::format("{}  {}:{}", ShortFunctionName(store.String(table.function[frame.value])),
                               ShortPath(store.String(table.file[frame.value])), table.line[frame.value]),
                   width_ - 32);
  }

  const OomAnswer& answer_;
  TextStyle style_;
  size_t width_;
  std::string out_;
};

}  // namespace

Status WriteOomText(const OomAnswer& answer, const TextStyle& style, ByteSink& sink) {
  return sink.Write(OomText(answer, style).Write());
}

}  // namespace memstrata
