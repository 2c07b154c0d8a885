#include "report/html/embedded_answers.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/gzip.h"
#include "base/json_writer.h"

namespace memstrata {
namespace {

constexpr int kPackLevel = 9;
// Of frames with a value for each block: level 9 takes four times as long for the same size within 7 % (3.3 M events).
constexpr int kLargePackLevel = 6;

std::string Quoted(std::string_view text) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.Value(text);
  return json.TakeText();
}

// Inside a <script> element no "<" may start a tag. In JSON it occurs in strings only.
std::string EscapeLessThan(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string KeyOf(std::string_view question, const Parameters& parameters) {
  const std::string query = parameters.ToQuery();
  return query.empty() ? std::string(question) : fmt::format("{}?{}", question, query);
}

std::string Packed(std::string_view bytes) { return Base64Encode(GzipCompress(bytes, kPackLevel)); }

}  // namespace

bool EmbeddedAnswers::Has(std::string_view question, const Parameters& parameters) const {
  return keys_.contains(KeyOf(question, parameters));
}

bool EmbeddedAnswers::AddJson(std::string_view question, const Parameters& parameters, std::string_view json,
                              Packing packing) {
  if (packing == Packing::kGzip) return Add(question, parameters, fmt::format(R"({{"packed":"{}"}})", Packed(json)));
  const std::string_view trimmed = json.substr(0, json.find_last_not_of('\n') + 1);
  return Add(question, parameters, fmt::format(R"({{"json":{}}})", trimmed));
}

bool EmbeddedAnswers::AddFrame(std::string_view question, const Parameters& parameters, std::string_view frame) {
  return AddPackedFrame(question, parameters, Packed(frame));
}

bool EmbeddedAnswers::AddPackedFrame(std::string_view question, const Parameters& parameters, std::string_view packed) {
  return Add(question, parameters, fmt::format(R"({{"frame":"{}"}})", packed));
}

std::string EmbeddedAnswers::PackFrame(std::string_view frame) {
  return Base64Encode(GzipCompress(frame, kLargePackLevel));
}

bool EmbeddedAnswers::AddProblem(std::string_view question, const Parameters& parameters, std::string_view sentence) {
  return Add(question, parameters, fmt::format(R"({{"problem":{}}})", Quoted(sentence)));
}

bool EmbeddedAnswers::Add(std::string_view question, const Parameters& parameters, const std::string& value) {
  const std::string key = KeyOf(question, parameters);
  if (keys_.contains(key)) return true;
  const std::string entry = EscapeLessThan(Quoted(key)) + ":" + EscapeLessThan(value);
  if (text_.size() + entry.size() > limit_bytes_) return false;
  text_ += (text_.empty() ? "" : ",") + entry;
  keys_.insert(key);
  return true;
}

std::string EmbeddedAnswers::Finish(const std::vector<std::string>& notes) const {
  JsonWriter reduced(JsonWriter::Style::kCompact);
  reduced.StartArray();
  for (const std::string& note : notes) reduced.Value(std::string_view(note));
  reduced.EndArray();
  return fmt::format(R"({{"schema":"memstrata.embedded/1","reduced":{},"answers":{{{}}}}})",
                     EscapeLessThan(reduced.TakeText()), text_);
}

}  // namespace memstrata
