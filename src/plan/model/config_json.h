#pragma once
// A model's config.json, read key by key. Remembers which keys were asked for, so that the others can be named.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memstrata::plan {

class ConfigJson {
 public:
  /// Parses one JSON object of at most 16 MiB and 64 levels; kCorruptInput names the byte otherwise.
  static Result<ConfigJson> Parse(std::string_view text);
  /// The object under `key`, or nothing. Shares the document.
  std::optional<ConfigJson> Object(std::string_view key) const;

  /// The same object, with the keys of `defaults` (a JSON object of ours) where it has none.
  ConfigJson WithDefaults(std::string_view defaults) const;
  /// Keys that were asked for and came from the defaults.
  std::vector<std::string> DefaultedKeys() const;

  bool Has(std::string_view key) const;
  bool HasOneOf(std::initializer_list<std::string_view> keys) const;
  /// True also when it is null.
  bool Mentions(std::string_view key) const;
  std::optional<std::string> Text(std::string_view key) const;
  std::optional<double> Number(std::string_view key) const;
  bool Flag(std::string_view key, bool otherwise) const;
  std::vector<std::string> Texts(std::string_view key) const;
  /// Whole numbers of an array; empty when absent.
  std::vector<int64_t> Integers(std::string_view key) const;
  /// Items of an array of anything; 0 when there is none.
  int64_t ArraySize(std::string_view key) const;
  /// A whole number from 0 to 2^40, or `otherwise` when the key is absent or null; a sentence when it is anything else.
  Result<int64_t> Integer(std::string_view key, int64_t otherwise) const;
  /// The same, but it must be there and positive.
  Result<int64_t> RequiredInteger(std::string_view key) const;
  /// The first of several names that is there.
  Result<int64_t> RequiredIntegerOf(std::initializer_list<std::string_view> keys) const;
  Result<int64_t> IntegerOf(std::initializer_list<std::string_view> keys, int64_t otherwise) const;

  /// The largest width, side or count of layers that makes sense; products of a few of them stay in 64 bits.
  static constexpr int64_t kLargestSize = int64_t{1} << 20;
  static constexpr int64_t kMostLayers = 4096;

  /// Layers under the first of these names that is there; a sentence when there are none or too many.
  Result<int64_t> Layers(std::initializer_list<std::string_view> keys) const;

  /// Keys of this object that nothing asked for.
  std::vector<std::string> UnusedKeys() const;

 private:
  struct Document;
  ConfigJson() = default;
  const void* Find(std::string_view key) const;        // nothing where it is null
  const void* FindMember(std::string_view key) const;  // the last of that name, as Python and JavaScript take it

  std::shared_ptr<Document> document_;
  const void* value_ = nullptr;
  std::shared_ptr<std::set<std::string, std::less<>>> used_;
  std::shared_ptr<ConfigJson> defaults_;
};

/// A sentence where a hidden size cannot be divided among so many attention heads.
Status CheckHeads(int64_t hidden, int64_t heads);

}  // namespace memstrata::plan
