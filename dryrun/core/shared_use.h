#pragma once
// What every process of the dry run has taken on the cards, so that all of them together cannot take more than there
// is, and each can be told of the others, as the management library of real cards tells. A small file that all of them
// map. What a process held is free once it has ended, however it ended.

#include <cstdint>
#include <functional>
#include <vector>

namespace memstrata::device {

struct ProcessUse {
  int32_t process_id = 0;
  uint64_t used_bytes = 0;
};

/// Says what this process has taken, the context included. Cost: one store, once the file is mapped.
void PublishUse(int32_t device, uint64_t used_bytes);

/// Runs `change` while no other process runs its own: to look at what others hold and take some of the rest is one
/// step.
void WithUseLocked(const std::function<void()>& change);

/// What the other living processes have taken, their contexts included. Cost: O(processes).
uint64_t TakenByOthers(int32_t device);

/// The living processes that have taken something, by their place in the file.
std::vector<ProcessUse> UsersOf(int32_t device);

}  // namespace memstrata::device
