#include "query/frame.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/table/id.h"

namespace memstrata {
namespace {

static_assert(std::endian::native == std::endian::little,
              "Frames are little-endian and written as they lie in memory.");

constexpr std::string_view kMagic = "MSF1";
constexpr size_t kAlignment = 8;

template <class T>
constexpr std::string_view kTypeName;
template <>
constexpr std::string_view kTypeName<uint8_t> = "u8";
template <>
constexpr std::string_view kTypeName<uint16_t> = "u16";
template <>
constexpr std::string_view kTypeName<uint32_t> = "u32";
template <>
constexpr std::string_view kTypeName<int32_t> = "i32";
template <>
constexpr std::string_view kTypeName<uint64_t> = "u64";
template <>
constexpr std::string_view kTypeName<float> = "f32";
template <>
constexpr std::string_view kTypeName<double> = "f64";

}  // namespace

FrameWriter::FrameWriter(std::string_view kind)
    : kind_(kind), attributes_(JsonWriter::Style::kCompact), tables_(JsonWriter::Style::kCompact) {
  attributes_.StartObject();
  tables_.StartArray();
  (void)StringIndex("");
}

void FrameWriter::StartTable(std::string_view name, size_t row_count) {
  EndTable();
  tables_.StartObject();
  tables_.Field("name", name);
  tables_.Field("rows", uint64_t{row_count});
  tables_.Key("columns");
  tables_.StartArray();
  in_table_ = true;
}

void FrameWriter::EndTable() {
  if (!in_table_) return;
  tables_.EndArray();
  tables_.EndObject();
  in_table_ = false;
}

void FrameWriter::AddColumn(std::string_view name, std::string_view type, std::string_view unit,
                            std::string_view bytes) {
  tables_.StartObject();
  tables_.Field("name", name);
  tables_.Field("type", type);
  tables_.Field("unit", unit);
  tables_.Field("offset", uint64_t{data_.size()});
  tables_.EndObject();
  data_.append(bytes);
  data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
}

template <class T>
void FrameWriter::Values(std::string_view name, std::string_view unit, std::span<const T> values) {
  std::string bytes(values.size_bytes(), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size_bytes());
  AddColumn(name, kTypeName<T>, unit, bytes);
}
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const uint8_t>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const uint16_t>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const uint32_t>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const int32_t>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const uint64_t>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const float>);
template void FrameWriter::Values(std::string_view, std::string_view, std::span<const double>);

void FrameWriter::Bytes(std::string_view name, std::span<const uint64_t> values) {
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const uint64_t value : values)
    numbers.push_back(value == kUnknownBytes ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value));
  Values<double>(name, "bytes", numbers);
}

void FrameWriter::Strings(std::string_view name, std::span<const std::string_view> values) {
  std::vector<uint32_t> indices;
  indices.reserve(values.size());
  for (const std::string_view value : values) indices.push_back(StringIndex(value));
  Values<uint32_t>(name, "string", indices);
}

uint32_t FrameWriter::StringIndex(std::string_view text) {
  const auto [entry, is_new] = string_ids_.try_emplace(std::string(text), static_cast<uint32_t>(strings_.size()));
  if (is_new) strings_.emplace_back(text);
  return entry->second;
}

std::string FrameWriter::Finish() && {
  EndTable();
  tables_.EndArray();
  attributes_.EndObject();
  JsonWriter strings(JsonWriter::Style::kCompact);
  strings.StartArray();
  for (const std::string& text : strings_) strings.Value(std::string_view(text));
  strings.EndArray();
  std::string header = "{\"kind\":\"" + kind_ + "\",\"attributes\":" + attributes_.TakeText() +
                       ",\"strings\":" + strings.TakeText() + ",\"tables\":" + tables_.TakeText() + "}";
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string frame(kMagic);
  const auto header_bytes = static_cast<uint32_t>(header.size());
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(header_bytes >> shift & 0xFF);
  frame += header;
  frame += data_;
  return frame;
}

}  // namespace memstrata
