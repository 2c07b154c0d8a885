#include "io/source/scratch_bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/units.h"

namespace memstrata {
namespace {

constexpr size_t kMostSpareSteps = 16;
constexpr size_t kReadBytes = size_t{1} << 20;

tl::unexpected<Error> TooLarge(uint64_t limit_bytes) {
  return Fail(ErrorCode::kLimitExceeded,
              fmt::format("It is larger than the limit of {} for this kind of file.", FormatBytes(limit_bytes)));
}

tl::unexpected<Error> NoMemory() { return Fail(ErrorCode::kIo, "There is not enough memory to hold the file."); }

}  // namespace

ScratchBytes::ScratchBytes(ScratchBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)),
      file_(std::exchange(other.file_, nullptr)),
      is_loaded_(std::move(other.is_loaded_)),
      has_shrunk_(other.has_shrunk_) {}

ScratchBytes::~ScratchBytes() {
  if (data_ != nullptr) munmap(data_, capacity_bytes_);
}

Result<ScratchBytes> ScratchBytes::Open(Input& input, uint64_t limit_bytes) {
  return input.plain_file != nullptr ? OpenFile(*input.plain_file, limit_bytes) : ReadWhole(*input.bytes, limit_bytes);
}

bool ScratchBytes::Grow(size_t capacity_bytes) {
  // Address space only: pages come when they are filled.
  void* moved = data_ == nullptr ? mmap(nullptr, capacity_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                 : mremap(data_, capacity_bytes_, capacity_bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return false;
  data_ = static_cast<char*>(moved);
  capacity_bytes_ = capacity_bytes;
  return true;
}

Result<ScratchBytes> ScratchBytes::OpenFile(const RandomAccess& file, uint64_t limit_bytes) {
  if (file.size_bytes() > limit_bytes) return TooLarge(limit_bytes);
  const auto size_bytes = static_cast<size_t>(file.size_bytes());
  const size_t steps = size_bytes / kStepBytes + 1;
  ScratchBytes bytes;
  if (!bytes.Grow(steps * kStepBytes)) return NoMemory();
  bytes.size_bytes_ = size_bytes;
  bytes.file_ = &file;
  bytes.is_loaded_.assign(steps, false);
  return bytes;
}

Result<ScratchBytes> ScratchBytes::ReadWhole(ByteSource& source, uint64_t limit_bytes) {
  ScratchBytes bytes;
  while (true) {
    if (bytes.capacity_bytes_ - bytes.size_bytes_ < kReadBytes && !bytes.Grow(bytes.capacity_bytes_ * 2 + kReadBytes))
      return NoMemory();
    const std::span<char> room(bytes.data_ + bytes.size_bytes_, kReadBytes);
    MEMSTRATA_ASSIGN_OR_RETURN(const size_t got, source.Read(std::as_writable_bytes(room)));
    if (got == 0) return bytes;
    bytes.size_bytes_ += got;
    if (bytes.size_bytes_ > limit_bytes) return TooLarge(limit_bytes);
  }
}

const char* ScratchBytes::Load(std::string_view part) {
  if (file_ == nullptr) return data_ + size_bytes_;
  const auto begin = static_cast<size_t>(part.data() - data_);
  const size_t end_step = (begin + part.size() + kStepBytes - 1) / kStepBytes;
  for (size_t step = begin / kStepBytes; step < end_step; ++step) {
    if (!is_loaded_[step]) LoadStep(step);
  }
  return data_ + std::min(size_bytes_, end_step * kStepBytes);
}

void ScratchBytes::LoadStep(size_t step) {
  const size_t begin = step * kStepBytes;
  const std::span<char> room(data_ + begin, std::min(kStepBytes, size_bytes_ - begin));
  is_loaded_[step] = true;
  TakePagesOfSpare(step);
  if (file_->ReadAt(begin, std::as_writable_bytes(room))) return;
  has_shrunk_ = true;
  std::memset(room.data(), 0, room.size());
}

// Moves the pages of a step that was given back under this one. The kernel would clear new pages one by one, which
// costs more than reading the file into them. Where pages cannot be moved (before Linux 5.7, too many mappings), new
// ones come by themselves.
void ScratchBytes::TakePagesOfSpare(size_t step) {
  if (spare_steps_.empty()) return;
  // Loaded again: it has its own pages, which must not go elsewhere later.
  if (std::erase(spare_steps_, step) > 0) return;
  char* const from = data_ + spare_steps_.back() * kStepBytes;
  spare_steps_.pop_back();
  if (mremap(from, kStepBytes, kStepBytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
             data_ + step * kStepBytes) == MAP_FAILED) {
    madvise(from, kStepBytes, MADV_DONTNEED);
  }
}

std::string_view ScratchBytes::Release(std::string_view part) {
  const auto begin = static_cast<size_t>(part.data() - data_);
  const size_t first = (begin + kStepBytes - 1) / kStepBytes;
  const size_t end = (begin + part.size()) / kStepBytes;
  if (end <= first) return part;
  for (size_t step = first; step < end; ++step) {
    if (file_ != nullptr && is_loaded_[step] && spare_steps_.size() < kMostSpareSteps) {
      spare_steps_.push_back(step);
    } else {
      madvise(data_ + step * kStepBytes, kStepBytes, MADV_DONTNEED);
    }
    if (file_ != nullptr) is_loaded_[step] = false;
  }
  return part.substr(end * kStepBytes - begin);
}

}  // namespace memstrata
