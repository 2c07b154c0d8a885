#include "query/redact.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/frames/useful_frame.h"

namespace memstrata {
namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

class Redactor {
 public:
  explicit Redactor(Store& store) : store_(store) {
    for (const XPlaneSource& source : store.xplane.sources) AddHost(source.host);
    for (const Heap& heap : store.heaps) AddHost(heap.host);
    for (const Source& source : store.sources) AddText(source.file, std::string(FileName(source.file)));
  }

  void Run() {
    for (Source& source : store_.sources) RedactSource(source);
    for (Heap& heap : store_.heaps) {
      heap.id = Clean(heap.id);
      heap.host = Clean(heap.host);
    }
    for (StringId& file : store_.stacks.MutableFrames().file.mutable_span()) file = CleanPath(file);
    for (EventContext& context : store_.contexts) context.user_metadata = {0};
    for (Program& program : store_.programs) {
      for (ProgramInstruction& instruction : program.instructions) {
        instruction.source_file = CleanPath(instruction.source_file);
        for (ProgramFrame& frame : instruction.frames) frame.file = CleanPath(frame.file);
      }
    }
    for (XPlaneSource& source : store_.xplane.sources) {
      source.host = Clean(source.host);
      for (std::string& plane : source.planes) plane = Clean(plane);
      for (auto& [plane, size_bytes] : source.device_memory_bytes) plane = Clean(plane);
    }
    for (Diagnostic& diagnostic : store_.diagnostics) diagnostic.text = Clean(diagnostic.text);
    for (Missing& missing : store_.missing) missing.why = Clean(missing.why);
  }

 private:
  struct Replacement {
    std::string text;
    std::string by;
  };

  void AddText(const std::string& text, std::string by) {
    const auto same = [&](const Replacement& known) { return known.text == text; };
    if (text.empty() || std::any_of(replacements_.begin(), replacements_.end(), same)) return;
    replacements_.push_back({text, std::move(by)});
  }
  void AddHost(const std::string& host) {
    const size_t before = replacements_.size();
    AddText(host, fmt::format("host-{}", host_count_ + 1));
    if (replacements_.size() > before) ++host_count_;
  }

  std::string Clean(std::string text) const {
    for (const Replacement& replacement : replacements_) {
      for (size_t at = text.find(replacement.text); at != std::string::npos;
           at = text.find(replacement.text, at + replacement.by.size())) {
        text.replace(at, replacement.text.size(), replacement.by);
      }
    }
    return text;
  }

  StringId CleanPath(StringId path) {
    const auto [known, is_new] = clean_paths_.try_emplace(path.value, path);
    if (!is_new) return known->second;
    const std::string text(store_.String(path));
    const std::string_view library = FrameworkPart(text);
    const StringId clean = store_.strings.Intern(library.empty() ? FileName(text) : library);
    return clean_paths_[path.value] = clean;
  }

  static void RedactSource(Source& source) {
    source.file = FileName(source.file);
    for (auto& [key, value] : source.metadata) {
      if (value.find_first_of("/\\") != std::string::npos) value = "removed";
    }
  }

  Store& store_;
  std::vector<Replacement> replacements_;
  size_t host_count_ = 0;
  FlatMap<uint32_t, StringId> clean_paths_;
};

}  // namespace

void Redact(Store& store) { Redactor(store).Run(); }

}  // namespace memstrata
