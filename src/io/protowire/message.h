#pragma once
// Protocol-buffer wire format without a schema compiler: protozero's reader for complete messages, and a walk for
// containers that may be cut off. protozero reports damage by exceptions; they end here (GuardMessage) and become
// values.
//
//   WireMessage event(bytes);
//   Status status = GuardMessage(offset, [&] { while (event.next()) { … } });
//
// Cost: no copies; every view points into the caller's bytes.

#include <cstdint>
#include <string_view>
#define PROTOZERO_USE_VIEW std::string_view
#include <fmt/format.h>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/result.h"

namespace memstrata {

using WireMessage = protozero::pbf_reader;
using WireType = protozero::pbf_wire_type;

/// Runs `decode`, which walks messages with WireMessage. Broken encoding gives kCorruptInput at `offset_bytes`, the
/// place of the record that `decode` reads.
template <class Decode>
Status GuardMessage(uint64_t offset_bytes, Decode&& decode) {
  try {
    decode();
    return {};
  } catch (const protozero::exception& problem) {
    return Fail(ErrorCode::kCorruptInput, fmt::format("The protobuf encoding is broken here: {}.", problem.what()),
                offset_bytes);
  }
}

/// Walks the fields of a message whose end may be missing: a length that reaches past the end gives what is there and
/// ends the walk with cut_off(); anything that cannot be a field ends it with damaged(). Never throws.
class FieldWalk {
 public:
  explicit FieldWalk(std::string_view bytes)
      : begin_(bytes.data()), position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  /// Moves to the next field; false at the end, and after a field that was cut off or damaged.
  bool Next();

  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  bool is_message() const { return type_ == WireType::length_delimited; }
  /// The payload of a length-delimited field, else empty.
  std::string_view payload() const { return payload_; }
  /// The value of a varint or fixed field.
  uint64_t number() const { return number_; }
  int64_t signed_number() const { return static_cast<int64_t>(number_); }

  bool cut_off() const { return cut_off_; }
  bool damaged() const { return damaged_; }
  /// Where the walk stands, from the start of the message.
  uint64_t offset_bytes() const { return static_cast<uint64_t>(position_ - begin_); }

 private:
  bool ReadVarint(uint64_t& value);
  bool ReadFixed(size_t size_bytes);
  bool Stop(bool& reason) {
    reason = true;
    return false;
  }

  const char* begin_;
  const char* position_;
  const char* end_;
  std::string_view payload_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  WireType type_ = WireType::unknown;
  bool cut_off_ = false;
  bool damaged_ = false;
};

inline bool FieldWalk::ReadVarint(uint64_t& value) {
  if (position_ != end_ && static_cast<unsigned char>(*position_) < 0x80) [[likely]] {
    value = static_cast<unsigned char>(*position_++);
    return true;
  }
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (position_ == end_) return Stop(cut_off_);
    const auto byte = static_cast<unsigned char>(*position_++);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return true;
  }
  return Stop(damaged_);
}

inline bool FieldWalk::ReadFixed(size_t size_bytes) {
  if (static_cast<size_t>(end_ - position_) < size_bytes) return Stop(cut_off_);
  number_ = 0;
  for (size_t i = 0; i < size_bytes; ++i) {
    number_ |= uint64_t{static_cast<unsigned char>(position_[i])} << (8 * i);
  }
  position_ += size_bytes;
  return true;
}

inline bool FieldWalk::Next() {
  if (position_ == end_ || cut_off_ || damaged_) return false;
  payload_ = {};
  uint64_t key = 0;
  if (!ReadVarint(key)) return false;
  field_ = static_cast<uint32_t>(key >> 3);
  type_ = static_cast<WireType>(key & 7);
  if (key > UINT32_MAX || field_ == 0) return Stop(damaged_);
  switch (type_) {
    case WireType::varint:
      return ReadVarint(number_);
    case WireType::fixed64:
      return ReadFixed(8);
    case WireType::fixed32:
      return ReadFixed(4);
    case WireType::length_delimited: {
      uint64_t size = 0;
      if (!ReadVarint(size)) return false;
      const auto left = static_cast<uint64_t>(end_ - position_);
      if (size > left) {
        size = left;
        cut_off_ = true;
      }
      payload_ = {position_, static_cast<size_t>(size)};
      position_ += size;
      return true;
    }
    default:
      return Stop(damaged_);
  }
}

}  // namespace memstrata
