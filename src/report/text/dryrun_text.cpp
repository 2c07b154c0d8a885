#include "report/text/dryrun_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"

namespace memstrata {
namespace {

using dryrun::DeviceRecord;
using dryrun::DryRunAnswer;
using dryrun::ProcessRecord;
using dryrun::Verdict;

constexpr size_t kLabelWidth = 22;
constexpr size_t kMostRows = 8;
constexpr std::string_view kBasisTexts[] = {
    "exact", "exact if no shape depends on a value below", "lower bound: not every optimizer has stepped",
    "lower bound: work areas of the vendor's libraries are not in it", "lower bound: no stream takes time here"};
constexpr double kReservedError = 0.005;  // where it comes from: docs/explanation/dry_run.md, "Nearly exact"

class DryRunText {
 public:
  DryRunText(const DryRunAnswer& answer, const ExplainAnswer* explained, const TextStyle& style)
      : answer_(answer),
        explained_(explained),
        style_(style),
        width_(static_cast<size_t>(std::clamp(style.width, 60, 140))) {}

  std::string Write() {
    WriteVerdict();
    for (const ProcessRecord& process : answer_.run.processes) {
      for (const DeviceRecord& device : process.devices) WriteDevice(process, device);
    }
    if (explained_ != nullptr) {
      for (const HeapExplained& heap : explained_->heaps) WriteHeap(heap);
    }
    if (!answer_.run.processes.empty()) WriteProgram(WholeProgram(answer_.run));
    WriteSearch();
    WriteNotes();
    if (!answer_.snapshot_path.empty())
      out_ += fmt::format("\n  {}\n", style_.Dim(fmt::format("memstrata open {}", answer_.session_folder)));
    return std::move(out_);
  }

 private:
  void Line(std::string_view label, std::string_view text) {
    out_ += fmt::format("  {}{}\n", PadRight(label, kLabelWidth), text);
  }
  void Paragraph(std::string_view text) { out_ += fmt::format("    {}\n", WrapLines(text, width_ - 4, 4)); }
  void Heading(std::string_view text) { out_ += fmt::format("\n  {}\n", style_.Bold(text)); }

  std::string VerdictText() const {
    switch (answer_.run.verdict()) {
      case Verdict::kFits:
        return style_.Bold("It fits.");
      case Verdict::kRanAfterErrors:
        return style_.Bold(fmt::format("It ran, after {} that the program handled.",
                                       FormatCount(answer_.run.OutOfMemoryCount(), "out-of-memory error")));
      case Verdict::kDoesNotFit:
        return style_.Error("It does not fit.");
      case Verdict::kScriptFailed:
        if (answer_.run.exit_status == 0)
          return style_.Error(fmt::format("Rank {} ended with an error.", answer_.run.FailedRank()->rank));
        return style_.Error(fmt::format("The program ended with status {}.", answer_.run.exit_status));
      case Verdict::kNoRecord:
        return style_.Error(
            "The program used the card and ended without leaving a record: it was killed, or left by "
            "_exit.");
      case Verdict::kCardNotUsed:
        return style_.Error("The program ended without using the card.");
    }
    return "";
  }

  void WriteVerdict() {
    const plan::Card& card = answer_.request.card;
    out_ += fmt::format(
        "{}  {}\n", VerdictText(),
        style_.Dim(fmt::format("{}, {}; PyTorch {}; {}, host memory {}", card.name, FormatBytes(card.visible_bytes),
                               answer_.wheel.torch_version, FormatDuration(answer_.run.wall_ns),
                               FormatBytes(answer_.run.host_peak_bytes))));
  }

  static std::string OrUnknown(std::optional<uint64_t> bytes) { return bytes ? FormatBytes(*bytes) : "unknown"; }

  std::string WithBasis(std::optional<uint64_t> bytes, std::string_view basis) const {
    return bytes ? fmt::format("{}  {}", FormatBytes(*bytes), style_.Dim(basis)) : "unknown";
  }

  void WriteDevice(const ProcessRecord& process, const DeviceRecord& device) {
    Heading(answer_.run.processes.size() > 1 ? fmt::format("cuda:{}, rank {}", device.index, process.rank)
                                             : fmt::format("cuda:{}", device.index));
    Line("Peak allocated",
         WithBasis(device.peak_allocated_bytes, kBasisTexts[static_cast<size_t>(BasisOf(answer_.request, process))]));
    Line("Peak reserved", WithBasis(device.peak_reserved_bytes, fmt::format("± {}", FormatPercent(kReservedError))));
    Line("Outside the framework",
         fmt::format("{}  {}", FormatBytes(answer_.request.card.context_bytes), style_.Dim("assumed")));
    if (answer_.run.verdict() != Verdict::kDoesNotFit || device.ooms.empty())
      Line("Left on the card", FormatBytes(MarginBytes(answer_.request, device)));
    if (device.ooms.empty()) return;
    const dryrun::OutOfMemory& oom = TellingError(process, device);
    Line("Out of memory", fmt::format("{} asked for with {} reserved and {} free", FormatBytes(oom.requested_bytes),
                                      FormatBytes(oom.reserved_bytes), FormatBytes(oom.free_bytes)));
    if (!oom.text.empty()) Paragraph(oom.text);
    WriteFrames(oom.frames);
  }

  // The program's own lines; those of PyTorch between them say little. Where there are none, the innermost.
  void WriteFrames(const std::vector<dryrun::CodePlace>& frames) {
    size_t row_count = 0;
    const auto write = [&](const dryrun::CodePlace& place) {
      if (row_count++ >= kMostRows) return;
      out_ += fmt::format("    {} {}\n", Shorten(fmt::format("{}:{}", place.file, place.line), width_ - 34),
                          style_.Dim(Shorten(fmt::format("in {}", place.function), 28)));
    };
    for (const dryrun::CodePlace& place : frames) {
      if (!place.file.starts_with(answer_.wheel.folder)) write(place);
    }
    if (row_count == 0 && !frames.empty()) write(frames.front());
    if (row_count > kMostRows)
      out_ += style_.Dim(fmt::format("    and {} more (--json lists all)\n", row_count - kMostRows));
  }

  void WriteHeap(const HeapExplained& heap) {
    if (heap.bands.empty()) return;
    Heading(fmt::format("Who holds the peak of {}", heap.analysis.heap->id));
    for (const Band& band : heap.bands) {
      if (band.at_peak_bytes == 0) continue;
      Line(kCategoryNames[static_cast<size_t>(band.category)],
           fmt::format("{}  {}", PadLeft(FormatBytes(band.at_peak_bytes), 9),
                       style_.Dim(FormatCount(band.block_count, "block"))));
    }
    std::map<Phase, uint64_t> peaks;
    for (const PhaseExplained& phase : heap.phases)
      peaks[phase.span.phase] = std::max(peaks[phase.span.phase], phase.peak_live_bytes);
    if (peaks.empty()) return;
    Heading("Highest in each phase");
    for (const auto& [phase, bytes] : peaks)
      Line(kPhaseNames[static_cast<size_t>(phase)], PadLeft(FormatBytes(bytes), 9));
  }

  void WriteProgram(const ProcessRecord& process) {
    Heading("The program");
    Line("Optimizer steps", process.step_count ? FormatCount(*process.step_count) : "unknown");
    for (const dryrun::AttentionUse& use : AttentionUses(process)) {
      Line("Attention",
           use.launch_count ? fmt::format("{} ({} launches)", use.name, FormatCount(*use.launch_count)) : use.name);
    }
    uint64_t launches = 0;
    for (const dryrun::Count& kernel : process.kernels) launches += kernel.count;
    Line("Kernels",
         fmt::format("{} launches of {}", FormatCount(launches), FormatCount(process.kernels.size(), "kernel")));
    if (!process.error_type.empty() && answer_.run.verdict() != Verdict::kDoesNotFit) {
      Line("Error", process.error_type);
      Paragraph(process.error_text);
      WriteFrames(process.error_frames);
    }
    if (process.reads.empty()) return;
    Heading("Values that were read, and were zero");
    for (size_t i = 0; i < std::min(process.reads.size(), kMostRows); ++i) {
      const dryrun::ValueRead& read = process.reads[i];
      out_ += fmt::format("  {}  {}\n", Shorten(fmt::format("{}:{}", read.file, read.line), width_ - 30),
                          style_.Dim(fmt::format("{} of {} B", FormatCount(read.count, "read"), read.size_bytes)));
    }
    if (process.reads.size() > kMostRows)
      out_ += style_.Dim(fmt::format("  and {} more lines (--json lists all)\n", process.reads.size() - kMostRows));
  }

  void WriteSearch() {
    if (!answer_.search) return;
    const dryrun::Search& search = *answer_.search;
    const std::string name = search.parameter.variable.empty() ? "{}" : search.parameter.variable;
    Heading(search.largest ? fmt::format("Largest {} that fits: {}", name, *search.largest)
                           : fmt::format("No {} from {} on fits", name, search.parameter.low));
    Line("", style_.Dim("reserved at most"));
    for (const dryrun::Trial& trial : search.trials) {
      const std::optional<uint64_t> refused_bytes = trial.run.RefusedBytes();
      std::string verdict = trial.run.verdict() == Verdict::kFits ? "fits" : "does not fit";
      if (const std::string other = OtherFailure(trial.run); !other.empty())
        verdict = fmt::format("unknown: it {}", other);
      if (refused_bytes) verdict += fmt::format(": a request of {} failed", FormatBytes(*refused_bytes));
      Line(fmt::format("{} = {}", name, trial.value),
           fmt::format("{}  {}", PadLeft(OrUnknown(trial.run.PeakReservedBytes()), 16), verdict));
    }
  }

  void WriteNotes() {
    out_ += "\n";
    for (const dryrun::Note& note : NotesOf(answer_)) {
      const std::string text = WrapLines(note.text, width_ - 4, 4);
      out_ += fmt::format("  {} {}\n", note.severity == "warning" ? style_.Warn("!") : style_.Dim("-"), text);
    }
  }

  const DryRunAnswer& answer_;
  const ExplainAnswer* explained_;
  const TextStyle& style_;
  size_t width_;
  std::string out_;
};

}  // namespace

Status WriteDryRunText(const DryRunAnswer& answer, const ExplainAnswer* explained, const TextStyle& style,
                       ByteSink& sink) {
  return sink.Write(DryRunText(answer, explained, style).Write());
}

std::string WheelText(const dryrun::Wheel& wheel, int width) {
  const auto list = [width](const std::vector<std::string>& names) {
    return WrapLines(fmt::format("{}", fmt::join(names, ", ")), static_cast<size_t>(std::clamp(width, 60, 140)) - 4, 4);
  };
  std::string out = fmt::format("PyTorch {} for CUDA {}, {}\n", wheel.torch_version, wheel.cuda_version, wheel.folder);
  out += fmt::format("  asks for {} of the vendor:\n    {}\n", FormatCount(wheel.shells.size()) + " libraries",
                     list(wheel.shells));
  out += fmt::format("  uses {} of them; {} answered as a success, without an effect of their own:\n    {}\n",
                     FormatCount(wheel.vendor_function_count, "function"),
                     wheel.unanswered.size() == 1 ? "1 is" : fmt::format("{} are", wheel.unanswered.size()),
                     list(wheel.unanswered));
  return out;
}

}  // namespace memstrata
