#include "io/source/scratch_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kFirstCapacityBytes = size_t{1} << 20;
constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

ScratchBytes::ScratchBytes(ScratchBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)) {}

ScratchBytes::~ScratchBytes() {
  if (data_ != nullptr) munmap(data_, capacity_bytes_);
}

bool ScratchBytes::Grow(size_t capacity_bytes) {
  void* moved = data_ == nullptr
                    ? mmap(nullptr, capacity_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                    : mremap(data_, capacity_bytes_, capacity_bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return false;
  data_ = static_cast<char*>(moved);
  // A hint only: with large pages, filling the buffer costs a tenth of the page faults.
  (void)madvise(data_, capacity_bytes, MADV_HUGEPAGE);
  capacity_bytes_ = capacity_bytes;
  return true;
}

Result<ScratchBytes> ScratchBytes::Read(ByteSource& source, uint64_t limit_bytes) {
  ScratchBytes bytes;
  while (true) {
    if (bytes.capacity_bytes_ - bytes.size_bytes_ < kReadBytes &&
        !bytes.Grow(std::max(kFirstCapacityBytes, bytes.capacity_bytes_ * 2) + kReadBytes)) {
      return Fail(ErrorCode::kIo, "There is not enough memory to hold the file.");
    }
    const std::span<char> room(bytes.data_ + bytes.size_bytes_, kReadBytes);
    MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, source.Read(std::as_writable_bytes(room)));
    if (got == 0) return bytes;
    bytes.size_bytes_ += got;
    if (bytes.size_bytes_ > limit_bytes) {
      return Fail(ErrorCode::kLimitExceeded,
                  fmt::format("It is larger than the limit of {} for this kind of file.", FormatBytes(limit_bytes)));
    }
  }
}

void ScratchBytes::Release(std::string_view part) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<size_t>(part.data() - data_);
  const size_t first = (begin + page - 1) / page * page;
  const size_t last = (begin + part.size()) / page * page;
  if (last > first) madvise(data_ + first, last - first, MADV_DONTNEED);
}

}  // namespace memstrata
