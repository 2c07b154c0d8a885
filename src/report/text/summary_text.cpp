#include "report/text/summary_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"
#include "report/text/curve_chart.h"
#include "report/text/profile_text.h"
#include "report/text/program_text.h"
#include "report/text/stack_text.h"

namespace memstrata {
namespace {

constexpr size_t kLabelWidth = 18;
// A job of hundreds of hosts has thousands of heaps.
constexpr size_t kMostSources = 16;
constexpr size_t kMostHosts = 16;
constexpr size_t kMostHeaps = 16;

class SummaryText {
 public:
  SummaryText(const SummaryAnswer& answer, const SummaryTextOptions& options)
      : answer_(answer),
        store_(*answer.store),
        options_(options),
        style_(options.style),
        width_(static_cast<size_t>(std::clamp(options.style.width, 60, 140))) {}

  std::string Write() {
    const size_t shown = std::min(kMostSources, store_.sources.size());
    for (size_t i = 0; i < shown; ++i) WriteSource(store_.sources[i]);
    if (shown < store_.sources.size()) out_ += fmt::format("… and {} more files\n", store_.sources.size() - shown);
    if (answer_.heaps.empty() && store_.programs.empty() && store_.xplane.sources.empty())
      out_ += "\nNo device memory was in use when this file was written.\n";
    WriteHosts();
    WriteHeaps();
    out_ += ProgramsText(store_, style_, width_, answer_.options.top_count);
    WriteNotes();
    return std::move(out_);
  }

 private:
  void WriteSource(const Source& source) {
    std::string line = style_.Bold(Shorten(source.file, width_ - 20));
    line += style_.Dim(fmt::format("  {}", source.format));
    if (source.size_bytes > 0) line += style_.Dim(fmt::format(", {}", FormatBytes(source.size_bytes)));
    if (source.truncated) line += style_.Warn("  truncated: only a part could be read");
    out_ += line + "\n";
  }

  void WriteHosts() {
    if (answer_.hosts.empty()) return;
    const HostSummary& worst = answer_.hosts.front();
    const HostSummary& best = answer_.hosts.back();
    out_ += "\n" + style_.Bold(fmt::format("{} hosts, the highest peak first", answer_.hosts.size()));
    out_ += style_.Dim(fmt::format("  {} apart", FormatBytes(worst.peak_used_bytes - best.peak_used_bytes))) + "\n";
    const size_t shown = std::min(kMostHosts, answer_.hosts.size());
    for (const HostSummary& host : std::span(answer_.hosts).first(shown)) {
      out_ += fmt::format("  {}  {}  {}\n", PadLeft(FormatBytes(host.peak_used_bytes), 9),
                          PadLeft(host.utilization ? FormatPercent(*host.utilization) : "", 7),
                          Shorten(host.worst_heap, width_ - 24));
    }
    if (shown < answer_.hosts.size()) out_ += fmt::format("  … and {} more\n", answer_.hosts.size() - shown);
  }

  static uint64_t PeakOf(const HeapSummary& heap) {
    return heap.profile ? heap.profile->used_bytes : heap.live_peak.bytes;
  }

  // All heaps in order; of very many those with the highest peaks.
  void WriteHeaps() {
    std::vector<const HeapSummary*> heaps;
    for (const HeapSummary& heap : answer_.heaps) heaps.push_back(&heap);
    if (heaps.size() > kMostHeaps) {
      std::stable_sort(heaps.begin(), heaps.end(),
                       [](const HeapSummary* a, const HeapSummary* b) { return PeakOf(*a) > PeakOf(*b); });
      heaps.resize(kMostHeaps);
      out_ += "\n" +
              style_.Bold(fmt::format("The {} of {} heaps with the highest peaks", kMostHeaps, answer_.heaps.size())) +
              style_.Dim("  (any other: --heap ID; all: --json)") + "\n";
    }
    for (const HeapSummary* heap : heaps) WriteHeap(*heap);
  }

  void Line(std::string_view label, std::string_view text) {
    out_ += fmt::format("  {}{}\n", PadRight(label, kLabelWidth), text);
  }
  void Heading(std::string_view text) { out_ += fmt::format("\n  {}\n", style_.Bold(text)); }

  std::string When(const HeapSummary& heap, Moment moment) const { return DescribeMoment(store_, heap, moment); }

  void WriteHeap(const HeapSummary& heap) {
    out_ += "\n" + style_.Bold(Shorten(heap.heap->id, 40));
    out_ += style_.Dim(fmt::format("  {} events: {} allocations ({}), {} frees", FormatCount(heap.event_count),
                                   FormatCount(heap.allocation_count), FormatBytes(heap.allocated_bytes_total),
                                   FormatCount(heap.free_count)));
    if (heap.first_time_ns && heap.last_time_ns)
      out_ += style_.Dim(
          fmt::format(", in {}", FormatDuration(std::max<int64_t>(0, *heap.last_time_ns - *heap.first_time_ns))));
    out_ += "\n\n";
    if (!heap.live_columns.empty() && heap.event_count > 1) {
      out_ += DrawCurve(heap.live_columns, heap.reserved_columns, 7, style_);
      out_ += style_.Dim(PadLeft("", 13) + (heap.reserved_columns.empty() ? "█ live" : "█ live   · reserved") +
                         "   by order of events") +
              "\n\n";
    }
    if (heap.profile) {
      out_ += ProfileText(store_, heap, options_.style, width_, said_);
      return;
    }
    WritePeaks(heap);
    WriteHolders(heap);
    WriteIdle(heap);
    WriteOutOfMemory(heap);
  }

  void WritePeaks(const HeapSummary& heap) {
    const std::string bound = heap.is_lower_bound ? "at least " : "";
    Line("Peak live", style_.Bold(bound + FormatBytes(heap.live_peak.bytes)) + "  " +
                          When(heap, heap.live_peak.moment) + style_.Dim("  (bytes as requested)"));
    if (heap.block_peak)
      Line("Peak in blocks", fmt::format("{}{}  {}", bound, FormatBytes(heap.block_peak->bytes),
                                         style_.Dim("(rounded up by the allocator; approximate for past moments)")));
    if (heap.reserved_peak)
      Line("Peak reserved", fmt::format("{}{}  {}", bound, FormatBytes(heap.reserved_peak->bytes),
                                        style_.Dim("(taken from the device)")));
    WriteOutside(heap);
    std::string end = FormatBytes(heap.end_live_bytes) + " live";
    if (heap.end_reserved_bytes) end += fmt::format(", {} reserved", FormatBytes(*heap.end_reserved_bytes));
    if (heap.end_pending_bytes && *heap.end_pending_bytes > 0)
      end += fmt::format(", {} waiting for another stream", FormatBytes(*heap.end_pending_bytes));
    Line("At the end", end);
    if (heap.preexisting_block_count > 0) {
      Line("Before recording", fmt::format("{} in {} {} live already", FormatBytes(heap.preexisting_bytes),
                                           FormatCount(heap.preexisting_block_count, "block"),
                                           heap.preexisting_block_count == 1 ? "was" : "were"));
    }
    if (heap.is_lower_bound)
      Line("", style_.Warn(
                   WrapLines("Lower bound: " + heap.lower_bound_reason, width_ - kLabelWidth - 2, kLabelWidth + 2)));
  }

  void WriteOutside(const HeapSummary& heap) {
    if (!heap.outside) return;
    const DeviceSample& sample = heap.outside->sample;
    std::string when(kSampleReasonNames[static_cast<size_t>(sample.reason)]);
    if (sample.step != kNone) when = fmt::format("step {}", sample.step);
    if (sample.reason == SampleReason::kOutOfMemory) when = "the out of memory";
    Line("Outside",
         fmt::format("{}  {}", FormatBytes(heap.outside->bytes),
                     style_.Dim(fmt::format("(on the device at {}: {} used - {} reserved; of {})", when,
                                            FormatBytes(sample.total_bytes - sample.free_bytes),
                                            FormatBytes(sample.reserved_bytes), FormatBytes(sample.total_bytes)))));
  }

  void WriteHolders(const HeapSummary& heap) {
    if (heap.holders.empty()) return;
    const bool at_peak = heap.holders_at == heap.live_peak.moment;
    Heading(at_peak
                ? fmt::format("Who holds the peak (by {})", kHolderKeyNames[static_cast<size_t>(answer_.options.by)])
                : fmt::format("Who holds {} {} (by {})", FormatBytes(heap.holders_bytes), When(heap, heap.holders_at),
                              kHolderKeyNames[static_cast<size_t>(answer_.options.by)]));
    for (const Holder& holder : heap.holders) {
      const double share = heap.ShareOf(static_cast<int64_t>(holder.bytes));
      const std::string blocks = PadRight(FormatCount(holder.block_count, "block"), 12);
      const bool show_category =
          holder.category != Category::kUnknown && !holder.is_other && answer_.options.by != HolderKey::kCategory;
      const std::string category =
          show_category ? fmt::format("  [{}]", kCategoryNames[static_cast<size_t>(holder.category)]) : "";
      const std::string head = fmt::format("  {}  {}  {}  ", PadLeft(FormatBytes(holder.bytes), 9),
                                           PadLeft(FormatPercent(share), 7), blocks);
      const size_t description_width = width_ - DisplayWidth(head) - DisplayWidth(category);
      const std::string description = DescribeHolder(store_, *heap.heap, holder, description_width);
      const bool has_frame = holder.stack.value != 0 || !holder.name.empty();
      out_ += head + (has_frame ? description : style_.Dim(description)) + style_.Dim(category) + "\n";
      if (options_.full_stacks) WriteFullStack(holder);
    }
  }

  void WriteFullStack(const Holder& holder) {
    const FrameTable& table = store_.stacks.frames();
    for (const FrameId frame : FramesOf(store_, holder.stack)) {
      out_ += style_.Dim(fmt::format("      {}  {}:{}", Shorten(store_.String(table.function[frame.value]), 200),
                                     Shorten(store_.String(table.file[frame.value]), 300), table.line[frame.value])) +
              "\n";
    }
  }

  void WriteIdle(const HeapSummary& heap) {
    if (!heap.idle || heap.idle->idle_bytes + heap.idle->rounding_bytes == 0) return;
    const IdleBytes& idle = *heap.idle;
    Heading("Reserved but idle at the end");
    Line("Idle",
         fmt::format("{}, largest hole {}", FormatBytes(idle.idle_bytes), FormatBytes(idle.largest_idle_bytes)));
    const auto kind = [&](uint64_t bytes, std::string_view text) {
      if (bytes > 0) out_ += fmt::format("  {}  {}\n", PadLeft(FormatBytes(bytes), kLabelWidth - 2), text);
    };
    kind(idle.split_bytes, "beside live blocks: usable only by requests that fit the holes");
    kind(idle.whole_segment_bytes, "whole segments with nothing in use: torch.cuda.empty_cache() returns them");
    kind(idle.stream_bytes, "on streams that were not used lately: serves only these streams");
    kind(idle.private_pool_bytes, "in private pools (CUDA graphs, MemPool): serves only these");
    kind(idle.rounding_bytes, "rounding inside blocks in use (not part of idle)");
  }

  void WriteOutOfMemory(const HeapSummary& heap) {
    if (heap.out_of_memory.empty()) return;
    Heading(style_.Error(fmt::format("Out of memory: {} {}", heap.out_of_memory.size(),
                                     heap.out_of_memory.size() == 1 ? "time" : "times")));
    constexpr size_t kMostShown = 5;
    for (size_t i = 0; i < std::min(kMostShown, heap.out_of_memory.size()); ++i) {
      const OutOfMemoryEvent& event = heap.out_of_memory[i];
      out_ += fmt::format("  {}: {} asked, {} live, {} free on the device\n", When(heap, Moment::AfterEvent(event.seq)),
                          FormatBytes(event.requested_bytes), FormatBytes(event.live_bytes),
                          event.device_free_bytes ? FormatBytes(*event.device_free_bytes) : "unknown");
    }
    if (heap.out_of_memory.size() > kMostShown)
      out_ += fmt::format("  … and {} more\n", heap.out_of_memory.size() - kMostShown);
  }

  void WriteNotes() {
    if (!store_.missing.empty()) {
      out_ += "\n" + style_.Bold("What this file cannot tell") + "\n";
      for (const Missing& missing : store_.missing)
        out_ += "  " +
                WrapLines(fmt::format("{}: {} {}", missing.what, missing.why, missing.how_to_get), width_ - 4, 4) +
                "\n";
    }
    if (store_.diagnostics.empty()) return;
    out_ += "\n" + style_.Bold("Remarks on the file") + "\n";
    for (const Diagnostic& diagnostic : store_.diagnostics) {
      const std::string text = fmt::format("{} ({})", diagnostic.text, FormatCount(diagnostic.count));
      const std::string wrapped = WrapLines(text, width_ - 4, 4);
      out_ += "  " + (diagnostic.severity >= Severity::kWarning ? style_.Warn(wrapped) : wrapped) + "\n";
    }
  }

  const SummaryAnswer& answer_;
  const Store& store_;
  const SummaryTextOptions& options_;
  const TextStyle& style_;
  size_t width_;
  std::set<std::string> said_;  // explanations that need not be repeated
  std::string out_;
};

}  // namespace

std::string DescribeMoment(const Store& store, const HeapSummary& heap, Moment moment) {
  if (moment.seq() == kNone) return "before the first event";
  std::string text = fmt::format("at event {}", FormatCount(moment.seq()));
  const int64_t time_ns = store.EventTime(*heap.heap, moment.seq());
  if (time_ns != kNoTime && heap.first_time_ns)
    text += fmt::format(", {} after the first", FormatDuration(std::max<int64_t>(0, time_ns - *heap.first_time_ns)));
  return text;
}

Status WriteSummaryText(const SummaryAnswer& answer, const SummaryTextOptions& options, ByteSink& sink) {
  return sink.Write(SummaryText(answer, options).Write());
}

}  // namespace memstrata
