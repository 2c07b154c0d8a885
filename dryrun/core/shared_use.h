#pragma once
// What every process of the dry run has taken on the cards, so that each can be told of the others, as the management
// library of real cards tells. A small file that all of them map; a process that is killed is known by its number being
// gone. Nothing is refused because of others: a program may need them all to fit only one after the other.

#include <cstdint>
#include <vector>

namespace memstrata::device {

struct ProcessUse {
  int32_t process_id = 0;
  uint64_t used_bytes = 0;
};

/// Says what this process has taken, the context included. Cost: one store, once the file is mapped.
void PublishUse(int32_t device, uint64_t used_bytes);

/// The living processes that have taken something, by their place in the file.
std::vector<ProcessUse> UsersOf(int32_t device);

}  // namespace memstrata::device
