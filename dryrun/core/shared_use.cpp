#include "core/shared_use.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>

#include "core/settings.h"

namespace memstrata::device {
namespace {

constexpr int32_t kMostDevices = 64;
constexpr size_t kMostProcesses = 1024;

struct Slot {
  std::atomic<int32_t> process_id;  // 0: free
  std::atomic<uint64_t> used_bytes[kMostDevices];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// All slots, zero at first; nullptr where there is no dry run or no room.
Slot* MapSlots() {
  const std::string& folder = ProcessSettings().record_folder;
  if (folder.empty()) return nullptr;
  const int file = open((folder + "/use.slots").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  constexpr size_t kSizeBytes = sizeof(Slot) * kMostProcesses;
  void* mapped = MAP_FAILED;
  if (ftruncate(file, kSizeBytes) == 0) mapped = mmap(nullptr, kSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<Slot*>(mapped);
}

Slot* Slots() {
  static Slot* const slots = MapSlots();
  return slots;
}

bool IsAlive(int32_t process_id) { return kill(process_id, 0) == 0 || errno == EPERM; }

void Clear(Slot& slot) {
  for (std::atomic<uint64_t>& used : slot.used_bytes) used = 0;
}

// The slot of this process: its own, a free one, or that of a process that is gone.
Slot* OwnSlot() {
  static std::atomic<Slot*> own{nullptr};
  const int32_t process_id = getpid();
  Slot* slot = own;
  if (slot != nullptr && slot->process_id == process_id) return slot;  // else: this is a forked child
  Slot* const slots = Slots();
  for (size_t i = 0; slots != nullptr && i < kMostProcesses; ++i) {
    int32_t owner = slots[i].process_id;
    if (owner != 0 && IsAlive(owner)) continue;
    if (!slots[i].process_id.compare_exchange_strong(owner, process_id)) continue;
    Clear(slots[i]);
    own = &slots[i];
    return &slots[i];
  }
  return nullptr;
}

}  // namespace

void PublishUse(int32_t device, uint64_t used_bytes) {
  if (device < 0 || device >= kMostDevices) return;
  if (Slot* slot = OwnSlot()) slot->used_bytes[device] = used_bytes;
}

std::vector<ProcessUse> UsersOf(int32_t device) {
  std::vector<ProcessUse> users;
  Slot* const slots = Slots();
  for (size_t i = 0; slots != nullptr && device >= 0 && device < kMostDevices && i < kMostProcesses; ++i) {
    const int32_t process_id = slots[i].process_id;
    const uint64_t used_bytes = slots[i].used_bytes[device];
    if (process_id != 0 && used_bytes > 0 && IsAlive(process_id)) users.push_back({process_id, used_bytes});
  }
  return users;
}

}  // namespace memstrata::device
