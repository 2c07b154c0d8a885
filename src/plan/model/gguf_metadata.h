#pragma once
// The metadata of a GGUF header that tell a model's sizes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstrata::plan {

struct GgufMetadata {
  std::map<std::string, double, std::less<>> numbers;             // integers, floats and truth values
  std::map<std::string, std::string, std::less<>> texts;          // of at most 256 bytes
  std::map<std::string, std::vector<double>, std::less<>> lists;  // of numbers, at most 4,096
  std::map<std::string, uint64_t, std::less<>> lengths;           // of all arrays

  bool IsEmpty() const { return texts.empty() && numbers.empty(); }
  /// The number under "ARCHITECTURE.key", of layer `layer` where it is a list.
  std::optional<double> Number(std::string_view key, size_t layer = 0) const;
  std::string Architecture() const;
};

}  // namespace memstrata::plan
