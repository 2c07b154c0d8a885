#include "report/text/explain_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"
#include "base/units.h"

namespace memstrata {
namespace {

class ExplainText {
 public:
  ExplainText(const ExplainAnswer& answer, const TextStyle& style)
      : answer_(answer), style_(style), width_(static_cast<size_t>(std::clamp(style.width, 60, 140))) {}

  std::string Write() {
    if (answer_.heaps.empty()) {
      const bool is_snapshot = answer_.store->missing.empty() && answer_.store->programs.empty();
      out_ += is_snapshot ? "No device memory was in use when this file was written.\n"
                          : "There is no heap to explain; `memstrata summary` shows what is in the file.\n";
    }
    for (const HeapExplained& heap : answer_.heaps) WriteHeap(heap);
    for (const Missing& missing : answer_.store->missing)
      out_ +=
          "\n" + WrapLines(fmt::format("{}: {} {}", missing.what, missing.why, missing.how_to_get), width_, 2) + "\n";
    return std::move(out_);
  }

 private:
  void Heading(std::string_view text) { out_ += fmt::format("\n  {}\n", style_.Bold(text)); }

  void WriteHeap(const HeapExplained& heap) {
    const HeapAnalysis& analysis = heap.analysis;
    out_ += style_.Bold(Shorten(analysis.heap->id, 40)) + "\n";
    WriteVerdict(heap);
    WriteSteps(heap);
    WriteBands(heap);
    WriteMarks(heap);
    WriteNextPeaks(heap);
    WriteLayers(heap);
    if (answer_.store->HasXPlaneDetails(*analysis.heap)) {
      out_ += "\n  " +
              WrapLines(
                  "Phases and kinds of memory are recognised in recordings of PyTorch. Who holds this heap, "
                  "by operation and program, is in `memstrata summary`.",
                  width_ - 4, 2) +
              "\n";
    }
  }

  // A broken run starts with its cause; a healthy one says so in one line.
  void WriteVerdict(const HeapExplained& heap) {
    std::string quiet;
    bool is_healthy = true;
    for (const Finding& finding : heap.findings) {
      if (finding.severity == FindingSeverity::kInfo) {
        quiet += (quiet.empty() ? "" : " ") + finding.text;
        continue;
      }
      is_healthy = false;
      out_ += "  " + style_.Warn(WrapLines(finding.text, width_ - 4, 4)) + "\n";
      if (!finding.remedy.empty()) out_ += "    " + WrapLines(finding.remedy, width_ - 6, 4) + "\n";
    }
    if (is_healthy && !heap.analysis.HasAllocationEvents()) {
      quiet =
          "Without events of allocations there is nothing to judge: only what was live at the end is known. " + quiet;
    } else if (is_healthy) {
      quiet = quiet.empty() ? "No fault found." : "No fault found. " + quiet;
    }
    if (!quiet.empty()) out_ += "  " + WrapLines(quiet, width_ - 4, 4) + "\n";
  }

  void WriteSteps(const HeapExplained& heap) {
    if (heap.steps.empty()) return;
    const std::string_view basis = kPhaseBasisNames[static_cast<size_t>(heap.analysis.timeline.basis)];
    const bool has_phases = std::any_of(heap.phases.begin(), heap.phases.end(),
                                        [](const PhaseExplained& phase) { return phase.span.phase != Phase::kOther; });
    if (!has_phases) return;
    Heading(fmt::format("{} {}, found by {}{}", heap.steps.size(), heap.steps.size() == 1 ? "step" : "steps", basis,
                        Uncertainty(heap)));
    const uint32_t step = heap.marks.step == kNone ? 0 : heap.marks.step;
    out_ += style_.Dim(fmt::format("  step {}          events        peak       change\n", step));
    for (const PhaseRow& row : RowsOf(heap, step)) {
      std::string name(kPhaseNames[static_cast<size_t>(row.phase)]);
      if (row.count > 1) name += fmt::format(" x{}", row.count);
      out_ += fmt::format("  {}  {}  {}  {}\n", PadRight(name, 14), PadLeft(FormatCount(row.event_count), 8),
                          PadLeft(FormatBytes(row.peak_live_bytes), 10), PadLeft(FormatBytes(row.delta_bytes), 11));
    }
  }

  // Said where it is low: then the phases may well be others.
  static std::string Uncertainty(const HeapExplained& heap) {
    constexpr double kSure = 0.8;
    double sum = 0;
    uint64_t event_count = 0;
    for (const PhaseExplained& phase : heap.phases) {
      if (phase.span.step == kNone) continue;
      const uint32_t count = phase.span.end_seq - phase.span.begin_seq;
      sum += phase.confidence * count;
      event_count += count;
    }
    const double mean = event_count == 0 ? 1 : sum / static_cast<double>(event_count);
    return mean >= kSure ? "" : fmt::format("; phases are uncertain, confidence {:.2f}", mean);
  }

  /// Phases of one kind in one step; `count` of them where many take turns.
  struct PhaseRow {
    Phase phase = Phase::kOther;
    uint32_t count = 0;
    uint64_t event_count = 0;
    uint64_t peak_live_bytes = 0;
    int64_t delta_bytes = 0;
  };

  // Phases in their order; where they take turns many times, as one row of each kind.
  static std::vector<PhaseRow> RowsOf(const HeapExplained& heap, uint32_t step) {
    constexpr size_t kMostRows = 16;
    const std::vector<PhaseExplained> merged = Merged(heap, step);
    std::vector<PhaseRow> rows;
    for (const PhaseExplained& phase : merged) {
      const auto same =
          merged.size() <= kMostRows ? rows.end() : std::find_if(rows.begin(), rows.end(), [&](const PhaseRow& row) {
            return row.phase == phase.span.phase;
          });
      PhaseRow& row = same == rows.end() ? rows.emplace_back(PhaseRow{phase.span.phase}) : *same;
      ++row.count;
      row.event_count += phase.span.end_seq - phase.span.begin_seq;
      row.peak_live_bytes = std::max(row.peak_live_bytes, phase.peak_live_bytes);
      row.delta_bytes += phase.delta_bytes;
    }
    return rows;
  }

  // Backward and its recomputes as one row, so that a step of many layers stays short.
  static std::vector<PhaseExplained> Merged(const HeapExplained& heap, uint32_t step) {
    std::vector<PhaseExplained> merged;
    for (PhaseExplained phase : heap.phases) {
      if (phase.span.step != step) continue;
      if (phase.span.phase == Phase::kRecompute) phase.span.phase = Phase::kBackward;
      if (merged.empty() || merged.back().span.phase != phase.span.phase) {
        merged.push_back(phase);
        continue;
      }
      merged.back().span.end_seq = phase.span.end_seq;
      merged.back().peak_live_bytes = std::max(merged.back().peak_live_bytes, phase.peak_live_bytes);
      merged.back().delta_bytes += phase.delta_bytes;
    }
    return merged;
  }

  void WriteBands(const HeapExplained& heap) {
    const bool knows_kinds = std::any_of(heap.bands.begin(), heap.bands.end(),
                                         [](const Band& band) { return band.category != Category::kUnknown; });
    if (!knows_kinds) return;
    const Peak& peak = heap.analysis.peak;
    const std::string where =
        peak.moment.seq() == kNone
            ? "before the first event"
            : fmt::format("in {}",
                          kPhaseNames[static_cast<size_t>(heap.analysis.timeline.phase_of_event[peak.moment.seq()])]);
    Heading(fmt::format("The peak, {} {}", FormatBytes(peak.bytes), where));
    for (const Band& band : heap.bands) {
      if (band.at_peak_bytes == 0) continue;
      const double share = static_cast<double>(band.at_peak_bytes) / static_cast<double>(peak.bytes);
      out_ += fmt::format("  {}  {}  {}\n", PadLeft(FormatBytes(band.at_peak_bytes), 10),
                          PadLeft(FormatPercent(share), 7), kCategoryNames[static_cast<size_t>(band.category)]);
    }
  }

  void WriteMarks(const HeapExplained& heap) {
    if (heap.marks.marks.empty()) return;
    Heading("What the shapes are");
    for (const Mark& mark : heap.marks.marks) {
      out_ += fmt::format("  {}  {}\n", PadLeft(FormatBytes(mark.bytes), 10), WrapLines(mark.text, width_ - 14, 14));
      out_ += PadLeft("", 14) + style_.Dim(WrapLines(MarkReading(mark.kind), width_ - 14, 14)) + "\n";
    }
  }

  void WriteNextPeaks(const HeapExplained& heap) {
    if (heap.next_peaks.empty()) return;
    Heading("The peak if one of these were gone");
    const bool has_events = heap.analysis.HasAllocationEvents();
    for (const NextPeak& next : heap.next_peaks) {
      if (next.gain_bytes == 0) continue;
      std::string line = fmt::format("lower by {} without {}", FormatBytes(next.gain_bytes),
                                     next.category ? CategoryWords(*next.category) : next.remove);
      if (has_events) line += ", then " + PlaceOf(heap.analysis, next.peak.moment);
      out_ += fmt::format("  {}  {}\n", PadLeft(FormatBytes(next.peak.bytes), 10), WrapLines(line, width_ - 14, 14));
    }
  }

  void WriteLayers(const HeapExplained& heap) {
    bool has_heading = false;
    for (const RepeatedLayer& layer : heap.layers) {
      if (layer.kept_bytes * 100 < heap.analysis.peak.bytes) continue;
      if (!has_heading) Heading("Layers that repeat, and what they keep for the backward");
      has_heading = true;
      out_ += fmt::format("  {}  {} layers called from {}\n", PadLeft(FormatBytes(layer.kept_bytes), 10),
                          FormatCount(layer.loop.layer_count), layer.loop.place);
    }
  }

  const ExplainAnswer& answer_;
  const TextStyle& style_;
  size_t width_;
  std::string out_;
};

}  // namespace

Status WriteExplainText(const ExplainAnswer& answer, const TextStyle& style, ByteSink& sink) {
  return sink.Write(ExplainText(answer, style).Write());
}

}  // namespace memstrata
