#include "core/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/settings.h"
#include "core/shared_use.h"

namespace memstrata::device {
namespace {

constexpr uint64_t kSmallLimitBytes = uint64_t{1} << 20;
constexpr uint64_t kSmallStepBytes = 512;
constexpr uint64_t kArenaPerCapacity = 4;  // holes of the address space must never be the reason for a refusal

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

uint64_t ChargedBytes(uint64_t size_bytes) {
  return size_bytes < kSmallLimitBytes ? RoundUp(std::max<uint64_t>(size_bytes, 1), kSmallStepBytes)
                                       : RoundUp(size_bytes, kPageBytes);
}

uintptr_t ReserveAddresses(uint64_t size_bytes) {
  // One page more, so that the range can begin at a multiple of the page.
  void* raw = mmap(nullptr, size_bytes + kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = RoundUp(begin, kPageBytes);
  if (aligned > begin) munmap(raw, aligned - begin);
  const uint64_t rest = begin + kPageBytes - aligned;
  if (rest > 0) munmap(reinterpret_cast<void*>(aligned + size_bytes), rest);
  return aligned;
}

// The lowest place where `size_bytes` fit between the allocations, all of which begin at multiples of a page.
uintptr_t LowestPlace(const std::map<uintptr_t, uint64_t>& allocations, uintptr_t begin, uint64_t arena_bytes,
                      uint64_t size_bytes) {
  uintptr_t place = begin;
  for (const auto& [address, taken_bytes] : allocations) {
    if (address - place >= size_bytes) break;
    place = RoundUp(address + taken_bytes, kPageBytes);
  }
  return place + size_bytes <= begin + arena_bytes ? place : 0;
}

template <class Map>
auto FindContaining(const Map& ranges, uintptr_t address) {
  auto next = ranges.upper_bound(address);
  return next == ranges.begin() ? ranges.end() : std::prev(next);
}

}  // namespace

DeviceMemory::Card& DeviceMemory::CardOf(int32_t device) {
  if (cards_.empty()) cards_.resize(static_cast<size_t>(std::max(ProcessSettings().device_count, 1)));
  return cards_[std::min(static_cast<size_t>(std::max(device, 0)), cards_.size() - 1)];
}

void DeviceMemory::PublishLocked(const Card& card) const {
  if (user_process_id_ != getpid()) return;  // a forked child lets go of what its parent holds
  PublishUse(static_cast<int32_t>(&card - cards_.data()), ProcessSettings().context_bytes + card.usage.used_bytes);
}

uint64_t DeviceMemory::FreeLocked(const Card& card) const {
  const Settings& settings = ProcessSettings();
  const auto device = static_cast<int32_t>(&card - cards_.data());
  const uint64_t taken = settings.context_bytes + card.usage.used_bytes + TakenByOthers(device);
  return settings.capacity_bytes - std::min(taken, settings.capacity_bytes);
}

bool DeviceMemory::ChargeLocked(Card& card, uint64_t size_bytes) {
  bool fits = false;
  WithUseLocked([&] {
    fits = size_bytes <= FreeLocked(card);
    if (!fits) return;
    card.usage.used_bytes += size_bytes;
    user_process_id_ = getpid();
    PublishLocked(card);
  });
  if (!fits) {
    ++card.usage.refused_count;
    return false;
  }
  card.usage.peak_bytes = std::max(card.usage.peak_bytes, card.usage.used_bytes);
  ++card.usage.allocation_count;
  return true;
}

uintptr_t DeviceMemory::Allocate(int32_t device, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  Card& card = CardOf(device);
  if (card.arena_begin == 0) {
    card.arena_bytes = RoundUp(ProcessSettings().capacity_bytes, kPageBytes) * kArenaPerCapacity;
    card.arena_begin = ReserveAddresses(card.arena_bytes);
  }
  const uint64_t charged = ChargedBytes(size_bytes);
  if (card.arena_begin == 0 || !ChargeLocked(card, charged)) return 0;
  const uintptr_t place = LowestPlace(card.allocations, card.arena_begin, card.arena_bytes, charged);
  if (place == 0) {
    card.usage.used_bytes -= charged;
    PublishLocked(card);
    return 0;
  }
  card.allocations.emplace(place, charged);
  return place;
}

bool DeviceMemory::Free(uintptr_t address) {
  const std::scoped_lock lock(mutex_);
  for (Card& card : cards_) {
    const auto found = card.allocations.find(address);
    if (found == card.allocations.end()) continue;
    card.usage.used_bytes -= found->second;
    card.allocations.erase(found);
    PublishLocked(card);
    return true;
  }
  return false;
}

uintptr_t DeviceMemory::Reserve(uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  const uint64_t rounded = RoundUp(size_bytes, kPageBytes);
  const uintptr_t begin = ReserveAddresses(rounded);
  if (begin != 0) reservations_[begin] = {begin, rounded, 0, true};
  return begin;
}

bool DeviceMemory::Unreserve(uintptr_t address) {
  const std::scoped_lock lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end()) return false;
  munmap(reinterpret_cast<void*>(address), found->second.size_bytes);
  reservations_.erase(found);
  return true;
}

bool DeviceMemory::Charge(int32_t device, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  return ChargeLocked(CardOf(device), RoundUp(size_bytes, kPageBytes));
}

void DeviceMemory::Discharge(int32_t device, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  Card& card = CardOf(device);
  card.usage.used_bytes -= std::min(card.usage.used_bytes, RoundUp(size_bytes, kPageBytes));
  PublishLocked(card);
}

void DeviceMemory::SetDevice(uintptr_t address, int32_t device) {
  const std::scoped_lock lock(mutex_);
  const auto found = FindContaining(reservations_, address);
  if (found != reservations_.end()) reservations_[found->first].device = device;
}

std::optional<Range> DeviceMemory::Find(uintptr_t address) const {
  const std::scoped_lock lock(mutex_);
  for (size_t device = 0; device < cards_.size(); ++device) {
    const auto found = FindContaining(cards_[device].allocations, address);
    if (found != cards_[device].allocations.end() && address < found->first + found->second)
      return Range{found->first, found->second, static_cast<int32_t>(device), false};
  }
  const auto found = FindContaining(reservations_, address);
  if (found != reservations_.end() && address < found->first + found->second.size_bytes) return found->second;
  return std::nullopt;
}

Usage DeviceMemory::UsageOf(int32_t device) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<size_t>(device) < cards_.size() ? cards_[static_cast<size_t>(device)].usage : Usage{};
}

bool DeviceMemory::IsOwnUse() const {
  const std::scoped_lock lock(mutex_);
  return user_process_id_ == 0 || user_process_id_ == getpid();
}

uint64_t DeviceMemory::FreeBytes(int32_t device) {
  const std::scoped_lock lock(mutex_);
  return FreeLocked(CardOf(device));
}

DeviceMemory& Memory() {
  static auto* const memory = new DeviceMemory();  // never freed: frees arrive until the last exit handler
  return *memory;
}

}  // namespace memstrata::device
