#include "base/json_writer.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cmath>
#include <variant>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr uint64_t kLargestExactInteger = (uint64_t{1} << 53) - 1;

// Length of the valid UTF-8 sequence at text[i], or 0.
size_t SequenceLength(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, code = lead & 0x1F, smallest = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, code = lead & 0x0F, smallest = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, code = lead & 0x07, smallest = 0x10000;
  } else {
    return 0;
  }
  if (i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i + k) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= smallest && code <= 0x10FFFF && !surrogate ? length : 0;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

struct JsonWriter::State {
  using Compact = rapidjson::Writer<rapidjson::StringBuffer>;
  using Indented = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

  explicit State(Style wanted) : compact(buffer), indented(buffer), style(wanted) { indented.SetIndent(' ', 2); }

  template <class Call>
  void Do(Call&& call) {
    if (style == Style::kCompact) {
      call(compact);
    } else {
      call(indented);
    }
  }

  rapidjson::StringBuffer buffer;
  Compact compact;
  Indented indented;
  Style style;
};

JsonWriter::JsonWriter(Style style) : state_(std::make_unique<State>(style)) {}
JsonWriter::~JsonWriter() = default;

void JsonWriter::StartObject() {
  state_->Do([](auto& w) { w.StartObject(); });
}
void JsonWriter::EndObject() {
  state_->Do([](auto& w) { w.EndObject(); });
}
void JsonWriter::StartArray() {
  state_->Do([](auto& w) { w.StartArray(); });
}
void JsonWriter::EndArray() {
  state_->Do([](auto& w) { w.EndArray(); });
}
void JsonWriter::Key(std::string_view key) {
  state_->Do([&](auto& w) { w.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); });
}
void JsonWriter::Null() {
  state_->Do([](auto& w) { w.Null(); });
}
void JsonWriter::Value(bool value) {
  state_->Do([&](auto& w) { w.Bool(value); });
}
void JsonWriter::Value(uint64_t value) {
  if (value > kLargestExactInteger) return Value(std::string_view(FormatAddress(value)));
  state_->Do([&](auto& w) { w.Uint64(value); });
}
void JsonWriter::Value(int64_t value) {
  state_->Do([&](auto& w) { w.Int64(value); });
}
void JsonWriter::Value(double value) {
  if (!std::isfinite(value)) return Null();
  state_->Do([&](auto& w) { w.Double(value); });
}
void JsonWriter::Value(std::string_view text) {
  const auto put = [&](std::string_view valid) {
    state_->Do([&](auto& w) { w.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size())); });
  };
  if (IsValidUtf8(text)) {
    put(text);
  } else {
    put(ReplaceInvalidUtf8(text));
  }
}

std::string JsonWriter::TakeText() {
  std::string text(state_->buffer.GetString(), state_->buffer.GetSize());
  state_->buffer.Clear();
  return text;
}

std::string JsonWriter::Finish() { return TakeText() + "\n"; }

}  // namespace memstrata
