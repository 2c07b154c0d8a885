#include "core/shared_use.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
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

struct SharedFile {
  int descriptor = -1;    // stays open: closing it would drop the locks of this process
  Slot* slots = nullptr;  // zero at first; nullptr where there is no dry run or no room
};

SharedFile OpenShared() {
  const std::string& folder = ProcessSettings().record_folder;
  if (folder.empty()) return {};
  SharedFile shared;
  shared.descriptor = open((folder + "/use.slots").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  constexpr size_t kSizeBytes = sizeof(Slot) * kMostProcesses;
  if (shared.descriptor < 0 || ftruncate(shared.descriptor, kSizeBytes) != 0) return shared;
  void* mapped = mmap(nullptr, kSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.descriptor, 0);
  if (mapped != MAP_FAILED) shared.slots = static_cast<Slot*>(mapped);
  return shared;
}

const SharedFile& Shared() {
  static const SharedFile shared = OpenShared();
  return shared;
}

Slot* Slots() { return Shared().slots; }

// A process that has ended and that its parent has not waited for yet still has its number, and no memory.
bool HasEnded(int32_t process_id) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(("/proc/" + std::to_string(process_id) + "/stat").c_str(), "re"), &std::fclose);
  char line[512];
  if (file == nullptr || std::fgets(line, sizeof(line), file.get()) == nullptr) return false;
  const char* name_end = std::strrchr(line, ')');  // the name may hold anything
  return name_end != nullptr && (std::strncmp(name_end, ") Z", 3) == 0 || std::strncmp(name_end, ") X", 3) == 0);
}

bool IsAlive(int32_t process_id) { return (kill(process_id, 0) == 0 || errno == EPERM) && !HasEnded(process_id); }

bool SetLock(int16_t kind) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  int result = 0;
  do {
    result = fcntl(Shared().descriptor, F_SETLKW, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

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

void WithUseLocked(const std::function<void()>& change) {
  const bool is_locked = Shared().descriptor >= 0 && SetLock(F_WRLCK);
  change();
  if (is_locked) SetLock(F_UNLCK);
}

uint64_t TakenByOthers(int32_t device) {
  const int32_t own = getpid();
  uint64_t taken_bytes = 0;
  for (const ProcessUse& user : UsersOf(device)) {
    if (user.process_id != own) taken_bytes += user.used_bytes;
  }
  return taken_bytes;
}

std::vector<ProcessUse> UsersOf(int32_t device) {
  std::vector<ProcessUse> users;
  Slot* const slots = Slots();
  const int32_t own = getpid();  // asked at every allocation: whether it lives needs no look at the system
  for (size_t i = 0; slots != nullptr && device >= 0 && device < kMostDevices && i < kMostProcesses; ++i) {
    const int32_t process_id = slots[i].process_id;
    const uint64_t used_bytes = slots[i].used_bytes[device];
    if (process_id != 0 && used_bytes > 0 && (process_id == own || IsAlive(process_id)))
      users.push_back({process_id, used_bytes});
  }
  return users;
}

}  // namespace memstrata::device
