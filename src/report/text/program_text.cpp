#include "report/text/program_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/program_memory/program_summary.h"
#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kLabelWidth = 18;
constexpr size_t kMostPrograms = 10;

class ProgramsWriter {
 public:
  ProgramsWriter(const Store& store, const TextStyle& style, size_t width, size_t top_count)
      : store_(store), style_(style), width_(width), top_count_(top_count) {}

  std::string Write() {
    std::vector<std::pair<const Program*, ProgramSummary>> programs;
    for (const Program& program : store_.programs) programs.emplace_back(&program, SummarizeProgram(program));
    std::stable_sort(programs.begin(), programs.end(),
                     [](const auto& a, const auto& b) { return a.second.total_bytes > b.second.total_bytes; });
    if (programs.size() > 1) {
      out_ += "\n" + style_.Bold(fmt::format("Compiled programs: {}, the largest plans first", programs.size())) + "\n";
      for (size_t i = 0; i < std::min(kMostPrograms, programs.size()); ++i) {
        const auto& [program, summary] = programs[i];
        out_ += fmt::format("  {}  {}\n", PadLeft(FormatBytes(summary.total_bytes), 9),
                            Shorten(program->label, width_ - 14));
      }
      if (programs.size() > kMostPrograms) out_ += fmt::format("  … and {} more\n", programs.size() - kMostPrograms);
    }
    if (!programs.empty()) WriteProgram(*programs.front().first, programs.front().second);
    return std::move(out_);
  }

 private:
  void Line(std::string_view label, std::string_view text) {
    out_ += fmt::format("  {}{}\n", PadRight(label, kLabelWidth), text);
  }
  void Sentence(std::string text) { out_ += "  " + WrapLines(text, width_ - 4, 4) + "\n"; }

  void WriteProgram(const Program& program, const ProgramSummary& summary) {
    out_ += fmt::format("\n{}{}\n\n", style_.Bold("Plan of " + Shorten(program.label, width_ - 10)),
                        style_.Dim("  (static: one program, in its own order)"));
    const std::string about = summary.is_approximate && !program.stated_total_bytes ? "about " : "";
    Line("Needs", about + style_.Bold(FormatBytes(summary.total_bytes)) + style_.Dim("  device memory while it runs"));
    if (summary.peak_bytes) {
      const uint64_t unused = summary.total_bytes > *summary.peak_bytes ? summary.total_bytes - *summary.peak_bytes : 0;
      Line("Live at the peak", fmt::format("{}; {} of the plan is never live at once", FormatBytes(*summary.peak_bytes),
                                           FormatBytes(unused)));
    }
    if (program.has_roles) {
      Line("Arguments", Known(summary.argument_bytes));
      Line("Outputs",
           fmt::format("{}, {} of them in donated arguments", Known(summary.output_bytes), Known(summary.alias_bytes)));
      Line("Temporaries", Known(summary.temp_bytes));
      Line("Constants", Known(summary.constant_bytes));
    }
    if (summary.host_bytes > 0) Line("In host memory", FormatBytes(summary.host_bytes) + ", besides");
    if (!summary.problem.empty()) Line("Problem", style_.Warn(WrapLines(summary.problem, width_ - 20, 20)));
    WriteBuffers(program, summary);
    WriteHelp(program, summary);
  }

  static std::string Known(const std::optional<uint64_t>& bytes) { return bytes ? FormatBytes(*bytes) : "not known"; }

  std::string Describe(const Program& program, const PlannedBuffer& planned) const {
    if (planned.buffer == kNone) return std::string(planned.role);
    const ProgramBuffer& buffer = program.buffers[planned.buffer];
    std::string text = fmt::format("{}  {}", PadRight(planned.role, 9), Shorten(store_.String(buffer.shape), 40));
    if (planned.value_count > 1) text += fmt::format("  (largest of {})", FormatCount(planned.value_count, "value"));
    if (buffer.instruction == kNone) return text;
    const ProgramInstruction& instruction = program.instructions[buffer.instruction];
    const std::string_view op = store_.String(instruction.op_name);
    text += "  " + Shorten(op.empty() ? store_.String(instruction.name) : op, width_ > 100 ? width_ - 70 : 30);
    if (!instruction.frames.empty()) {
      std::string_view file = store_.String(instruction.frames.front().file);
      if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
      text += fmt::format("  {}:{}", Shorten(file, 30), instruction.frames.front().line);
    }
    return text;
  }

  void WriteBuffers(const Program& program, const ProgramSummary& summary) {
    if (summary.at_peak.empty()) return;
    const bool has_peak = summary.temporaries_at_peak_bytes.has_value();
    out_ += "\n  " +
            style_.Bold(has_peak ? "Largest buffers at the peak of the plan" : "Largest allocations of the plan") +
            "\n";
    for (size_t i = 0; i < std::min(top_count_, summary.at_peak.size()); ++i) {
      out_ += fmt::format("  {}  {}\n", PadLeft(FormatBytes(summary.at_peak[i].size_bytes), 9),
                          Describe(program, summary.at_peak[i]));
    }
    if (summary.at_peak.size() > top_count_)
      out_ += fmt::format("  … and {} more\n", FormatCount(summary.at_peak.size() - top_count_));
  }

  void WriteHelp(const Program& program, const ProgramSummary& summary) {
    out_ += "\n  " + style_.Bold("What would make it smaller") + "\n";
    uint64_t three_bytes = 0;
    for (size_t i = 0; i < std::min<size_t>(3, summary.at_peak.size()); ++i)
      three_bytes += summary.at_peak[i].size_bytes;
    if (three_bytes > 0)
      Sentence(fmt::format("The three largest {} hold {}.",
                           summary.temporaries_at_peak_bytes ? "buffers" : "allocations", FormatBytes(three_bytes)));
    if (summary.temporaries_at_peak_bytes)
      Sentence(fmt::format("Padding of layouts takes {} at the peak.", FormatBytes(summary.padding_bytes)));
    for (const PlannedBuffer& planned : summary.at_peak) {
      if (planned.padding_bytes < planned.size_bytes / 2 || planned.padding_bytes == 0) continue;
      Sentence(fmt::format("{} of {} is padding: reorder its axes so that the last ones fill a tile.",
                           FormatBytes(planned.padding_bytes),
                           Shorten(store_.String(program.buffers[planned.buffer].shape), 60)));
      break;
    }
    if (summary.temporaries_at_peak_bytes && summary.temporary_count_at_peak) {
      const uint64_t count = *summary.temporary_count_at_peak;
      if (count > 0) {
        Sentence(
            fmt::format("{} live together at the peak: {}. Recomputing (jax.checkpoint) or a smaller batch shrinks {}.",
                        count == 1 ? "One temporary is" : FormatCount(count) + " temporaries are",
                        FormatBytes(*summary.temporaries_at_peak_bytes), count == 1 ? "it" : "them"));
      }
    }
    if (summary.donation_count > 0) {
      Sentence(
          fmt::format("Donating arguments (donate_argnums) would save {}: {} {} exactly the size of an argument that "
                      "is not donated.",
                      FormatBytes(summary.donation_bytes), FormatCount(summary.donation_count, "output"),
                      summary.donation_count == 1 ? "has" : "have"));
    }
  }

  const Store& store_;
  const TextStyle& style_;
  size_t width_;
  size_t top_count_;
  std::string out_;
};

}  // namespace

std::string ProgramsText(const Store& store, const TextStyle& style, size_t width, size_t top_count) {
  return ProgramsWriter(store, style, width, top_count).Write();
}

}  // namespace memstrata
