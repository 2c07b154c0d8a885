#pragma once
// The last answers by question, up to a total size, so that a tile that was shown once comes at once. Thread-safe.

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/flat_map.h"
#include "query/question.h"

namespace memstrata {

/// An answer and the short text by which a client names what it has. Shared, because it may be on its way to a client
/// when the cache lets it go, and because a copy of a large frame costs more than finding it.
struct KeptAnswer {
  Answer answer;
  std::string tag;
};

class AnswerCache {
 public:
  explicit AnswerCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// The answer to "name?query", if it is still there. cost: O(length of the key)
  std::shared_ptr<const KeptAnswer> Find(const std::string& key);
  /// Keeps an answer, and lets the ones go that were not asked for the longest. Returns it, also where it is too large
  /// to be kept.
  std::shared_ptr<const KeptAnswer> Keep(std::string key, KeptAnswer kept);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const KeptAnswer> kept;
  };
  size_t limit_bytes_;
  std::mutex mutex_;
  size_t used_bytes_ = 0;
  std::list<Entry> entries_;  // newest first
  FlatMap<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace memstrata
