#pragma once
// The last answers by question, up to a total size, so that a tile that was shown once comes at once. Thread-safe.

#include <list>
#include <mutex>
#include <string>

#include "base/flat_map.h"
#include "query/question.h"

namespace memstrata {

class AnswerCache {
 public:
  explicit AnswerCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// A copy of the answer to "name?query", if it is still there.
  std::optional<Answer> Find(const std::string& key);
  /// Keeps an answer, and lets the ones go that were not asked for the longest.
  void Keep(std::string key, const Answer& answer);

 private:
  struct Entry {
    std::string key;
    Answer answer;
  };
  size_t limit_bytes_;
  std::mutex mutex_;
  size_t used_bytes_ = 0;
  std::list<Entry> entries_;  // newest first
  FlatMap<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace memstrata
