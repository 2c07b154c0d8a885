#include "query/answer_cache.h"

namespace memstrata {

std::optional<Answer> AnswerCache::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::Keep(std::string key, const Answer& answer) {
  if (answer.body.size() > limit_bytes_ / 4) return;  // one giant must not push all others out
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return;
  used_bytes_ += answer.body.size();
  entries_.push_front({key, answer});
  by_key_.emplace(std::move(key), entries_.begin());
  while (used_bytes_ > limit_bytes_) {
    used_bytes_ -= entries_.back().answer.body.size();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace memstrata
