#pragma once
// The binary answers of the web API ("frames"): a JSON header, then columns that a browser views without parsing.
// Byte by byte: docs/reference/api.md section 3.
//
//   FrameWriter frame("live_curve");
//   frame.attributes().Field("heap", 0U);
//   frame.StartTable("columns", 2);
//   frame.Values<uint32_t>("begin_seq", "seq", begins);
//   std::string bytes = std::move(frame).Finish();

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "base/json_writer.h"

namespace memstrata {

class FrameWriter {
 public:
  explicit FrameWriter(std::string_view kind);

  /// An open JSON object; fields may be added until Finish().
  JsonWriter& attributes() { return attributes_; }
  /// Columns that follow belong to this table and have `row_count` values each.
  void StartTable(std::string_view name, size_t row_count);
  /// T: uint8_t, uint16_t, uint32_t, int32_t, uint64_t, float, double.
  template <class T>
  void Values(std::string_view name, std::string_view unit, std::span<const T> values);
  /// Sizes as f64, exact below 2^53; kUnknownBytes becomes NaN.
  void Bytes(std::string_view name, std::span<const uint64_t> values);
  /// Texts as u32 into the frame's string list.
  void Strings(std::string_view name, std::span<const std::string_view> values);
  std::string Finish() &&;

 private:
  void AddColumn(std::string_view name, std::string_view type, std::string_view unit, std::string_view bytes);
  void EndTable();
  uint32_t StringIndex(std::string_view text);

  std::string kind_;
  JsonWriter attributes_;
  JsonWriter tables_;
  bool in_table_ = false;
  std::vector<std::string> strings_;
  FlatMap<std::string, uint32_t> string_ids_;
  std::string data_;
};

}  // namespace memstrata
