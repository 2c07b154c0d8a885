#include "query/answer_cache.h"

namespace memstrata {

std::shared_ptr<const KeptAnswer> AnswerCache::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->kept;
}

std::shared_ptr<const KeptAnswer> AnswerCache::Keep(std::string key, KeptAnswer kept) {
  auto shared = std::make_shared<const KeptAnswer>(std::move(kept));
  const size_t size_bytes = shared->answer.body.size();
  if (size_bytes > limit_bytes_ / 4) return shared;  // one giant must not push all others out
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return shared;
  used_bytes_ += size_bytes;
  entries_.push_front({key, shared});
  by_key_.emplace(std::move(key), entries_.begin());
  while (used_bytes_ > limit_bytes_) {
    used_bytes_ -= entries_.back().kept->answer.body.size();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return shared;
}

}  // namespace memstrata
