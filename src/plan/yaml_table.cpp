#include "plan/yaml_table.h"

#include <fmt/format.h>
#include <yaml.h>

#include <string>

namespace memstrata::plan {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr int kMostLevels = 8;

tl::unexpected<Error> Wrong(size_t line, std::string_view what) {
  return Fail(ErrorCode::kCorruptInput, fmt::format("This is not YAML of plain values (line {}): {}", line + 1, what));
}

/// One event of the parser, freed when it goes.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { Clear(); }

  void Clear() {
    yaml_event_delete(&event_);
    event_ = {};
  }
  yaml_event_t* get() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  size_t line() const { return event_.start_mark.line; }
  bool is_quoted() const { return event_.data.scalar.style != YAML_PLAIN_SCALAR_STYLE; }
  std::string Text() const {
    return {reinterpret_cast<const char*>(event_.data.scalar.value), event_.data.scalar.length};
  }
  /// What plain data does without: a name to repeat a value by, or a type of its own.
  bool IsAnchoredOrTagged() const {
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        return event_.data.scalar.anchor != nullptr || event_.data.scalar.tag != nullptr;
      case YAML_SEQUENCE_START_EVENT:
        return event_.data.sequence_start.anchor != nullptr || event_.data.sequence_start.tag != nullptr;
      case YAML_MAPPING_START_EVENT:
        return event_.data.mapping_start.anchor != nullptr || event_.data.mapping_start.tag != nullptr;
      default:
        return event_.type == YAML_ALIAS_EVENT;
    }
  }

 private:
  yaml_event_t event_{};
};

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    has_parser_ = yaml_parser_initialize(&parser_) == 1;
    if (has_parser_)
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() {
    if (has_parser_) yaml_parser_delete(&parser_);
  }

  Result<TomlTable> Read() {
    if (!has_parser_) return Fail(ErrorCode::kLimitExceeded, "There is no memory for reading YAML.");
    MEMSTRATA_TRY(Expect(YAML_STREAM_START_EVENT, "no text"));
    MEMSTRATA_TRY(Next());
    if (event_.type() == YAML_STREAM_END_EVENT) return TomlTable{};
    MEMSTRATA_TRY(Expect(YAML_MAPPING_START_EVENT, "the document is not a mapping of names to values"));
    MEMSTRATA_ASSIGN_OR_RETURN(TomlTable table, ReadMapping(1));
    MEMSTRATA_TRY(Expect(YAML_DOCUMENT_END_EVENT, "the document does not end"));
    MEMSTRATA_TRY(Expect(YAML_STREAM_END_EVENT, "there is more than one document"));
    return table;
  }

 private:
  Status Next() {
    event_.Clear();
    if (yaml_parser_parse(&parser_, event_.get()) != 1) {
      return Wrong(parser_.problem_mark.line, parser_.problem == nullptr ? "it cannot be read" : parser_.problem);
    }
    if (event_.IsAnchoredOrTagged()) return Wrong(event_.line(), "aliases, anchors and tags are not read");
    return {};
  }
  Status Expect(yaml_event_type_t type, std::string_view otherwise) {
    MEMSTRATA_TRY(Next());
    if (event_.type() != type) return Wrong(event_.line(), otherwise);
    return {};
  }

  Result<TomlTable> ReadMapping(int level) {
    TomlTable table;
    if (level > kMostLevels) return Wrong(event_.line(), "it is nested too deeply");
    while (true) {
      MEMSTRATA_TRY(Next());
      if (event_.type() == YAML_MAPPING_END_EVENT) return table;
      if (event_.type() != YAML_SCALAR_EVENT) return Wrong(event_.line(), "a name is not a plain text");
      const std::string name = event_.Text();
      const bool is_known = table.values.contains(name) || table.lists.contains(name) || table.tables.contains(name) ||
                            table.table_lists.contains(name);
      if (is_known) return Wrong(event_.line(), fmt::format("\"{}\" is there twice", name));
      MEMSTRATA_TRY(ReadValue(name, level, table));
    }
  }

  Status ReadValue(const std::string& name, int level, TomlTable& table) {
    MEMSTRATA_TRY(Next());
    if (event_.type() == YAML_SCALAR_EVENT) {
      table.values[name] = event_.Text();
      if (event_.is_quoted()) table.quoted.insert(name);
      return {};
    }
    if (event_.type() == YAML_MAPPING_START_EVENT) {
      MEMSTRATA_ASSIGN_OR_RETURN(table.tables[name], ReadMapping(level + 1));
      return {};
    }
    return ReadList(name, level, table);
  }

  Status ReadList(const std::string& name, int level, TomlTable& table) {
    if (event_.type() != YAML_SEQUENCE_START_EVENT) return Wrong(event_.line(), "a value is missing");
    table.lists[name];  // an empty list is there too
    while (true) {
      MEMSTRATA_TRY(Next());
      if (event_.type() == YAML_SEQUENCE_END_EVENT) return {};
      if (event_.type() == YAML_SCALAR_EVENT) {
        table.lists[name].push_back(event_.Text());
      } else if (event_.type() == YAML_MAPPING_START_EVENT) {
        MEMSTRATA_ASSIGN_OR_RETURN(TomlTable inner, ReadMapping(level + 1));
        table.table_lists[name].push_back(std::move(inner));
      } else {
        return Wrong(event_.line(), "a list holds another list");
      }
    }
  }

  yaml_parser_t parser_{};
  bool has_parser_ = false;
  Event event_;
};

}  // namespace

Result<TomlTable> ParseYaml(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Fail(ErrorCode::kLimitExceeded, "A YAML file larger than 1 MiB is not read.");
  return YamlReader(text).Read();
}

}  // namespace memstrata::plan
