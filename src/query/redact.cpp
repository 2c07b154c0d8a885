#include "query/redact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "analysis/frames/useful_frame.h"

namespace memstrata {
namespace {

constexpr std::string_view kRemoved = "removed";

std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The user that a path names: "/home/ada/run" → "ada"; empty where it names none.
std::string_view UserIn(std::string_view path) {
  for (const std::string_view homes : {"/home/", "/Users/", "\\Users\\"}) {
    const size_t at = path.find(homes);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + homes.size());
    const size_t end = rest.find_first_of("/\\");
    if (end != std::string_view::npos) return rest.substr(0, end);
  }
  return "";
}

// Names that a framework or a careful program gives: "ProfilerStep#3", "nccl:all_reduce", "## forward ##". What may be
// a path, an address or an argument has other characters.
bool IsPlainName(std::string_view name) {
  static constexpr std::string_view kOthers = " _.#:()[]<>-";
  const bool is_plain = std::all_of(
      name.begin(), name.end(), [](char c) { return IsLetterOrDigit(c) || kOthers.find(c) != std::string_view::npos; });
  return is_plain && name.find("--") == std::string_view::npos;
}

class Redactor {
 public:
  explicit Redactor(Store& store) : store_(store) {
    for (const XPlaneSource& source : store.xplane.sources) AddHost(source.host);
    for (const Heap& heap : store.heaps) AddHost(heap.host);
    const StringPool& strings = store.strings;
    for (uint32_t id = 0; id < strings.size(); ++id) AddUser(strings.Get({id}));
    for (const Source& source : store.sources) {
      AddUser(source.file);
      AddText(source.file, std::string(FileName(source.file)));
    }
  }

  void Run() {
    for (Source& source : store_.sources) RedactSource(source);
    for (Heap& heap : store_.heaps) {
      heap.id = Clean(heap.id);
      heap.host = Clean(heap.host);
    }
    for (StringId& file : store_.stacks.MutableFrames().file.mutable_span()) file = CleanPath(file);
    for (EventContext& context : store_.contexts) context.user_metadata = {0};
    for (uint32_t row = 0; row < store_.spans.size(); ++row) RedactSpan(row);
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

  void AddUser(std::string_view path) {
    const std::string user(UserIn(path));
    if (!user.empty() && std::find(users_.begin(), users_.end(), user) == users_.end()) users_.push_back(user);
  }

  // Users as whole words only: a short name is a part of many others.
  void CleanUsers(std::string& text) const {
    for (size_t i = 0; i < users_.size(); ++i) {
      const std::string by = fmt::format("user-{}", i + 1);
      for (size_t at = text.find(users_[i]); at != std::string::npos; at = text.find(users_[i], at)) {
        const size_t end = at + users_[i].size();
        const bool is_word =
            (at == 0 || !IsLetterOrDigit(text[at - 1])) && (end == text.size() || !IsLetterOrDigit(text[end]));
        if (is_word) text.replace(at, users_[i].size(), by);
        at += is_word ? by.size() : users_[i].size();
      }
    }
  }

  std::string Clean(std::string text) const {
    for (const Replacement& replacement : replacements_) {
      for (size_t at = text.find(replacement.text); at != std::string::npos;
           at = text.find(replacement.text, at + replacement.by.size())) {
        text.replace(at, replacement.text.size(), replacement.by);
      }
    }
    CleanUsers(text);
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

  void RedactSource(Source& source) const {
    source.file = Clean(std::string(FileName(source.file)));
    for (auto& [key, value] : source.metadata)
      value = value.find_first_of("/\\") == std::string::npos ? Clean(value) : std::string(kRemoved);
  }

  void RedactSpan(uint32_t row) {
    StringId& name = store_.spans.name.mutable_span()[row];
    const std::string text(store_.String(name));
    const bool is_own_text = store_.spans.kind[row] == SpanKind::kAnnotation && !IsPlainName(text);
    name = store_.strings.Intern(is_own_text ? std::string(kRemoved) : Clean(text));
  }

  Store& store_;
  std::vector<Replacement> replacements_;
  std::vector<std::string> users_;
  size_t host_count_ = 0;
  FlatMap<uint32_t, StringId> clean_paths_;
};

}  // namespace

void Redact(Store& store) { Redactor(store).Run(); }

}  // namespace memstrata
