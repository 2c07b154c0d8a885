#pragma once
// The message Profile of pprof, as far as memory profiles use it. Source: the published profile.proto.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "base/result.h"

namespace memstrata::pprof {

struct ValueType {
  std::string_view type;  // "space"
  std::string_view unit;  // "bytes"
};

struct Label {
  std::string_view key;
  std::string_view text;
};

struct Sample {
  std::vector<uint64_t> locations;  // innermost first
  std::vector<int64_t> values;      // one a ValueType
  std::vector<Label> labels;
};

struct Line {
  std::string_view function;
  std::string_view file;
  int64_t line = 0;
};

struct Profile {
  std::vector<ValueType> value_types;
  std::vector<Sample> samples;
  FlatMap<uint64_t, std::vector<Line>> locations;  // by id; several lines where functions were inlined, innermost first
  int64_t time_ns = 0;                             // Unix; 0 = not said
};

/// Everything is a view into `bytes`. kCorruptInput when the encoding is broken.
Result<Profile> ReadProfile(std::string_view bytes);

}  // namespace memstrata::pprof
