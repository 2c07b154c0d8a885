#pragma once
// Counts the bytes that a reader takes, so that people see how far it is.

#include <memory>
#include <utility>

#include "readers/reader.h"

namespace memstrata {

/// Passes `source` on and reports every kReportBytes and at the end: how many of its bytes were taken, or, where they
/// are unpacked from a file, the place in that file.
class CountingSource final : public ByteSource {
 public:
  CountingSource(std::unique_ptr<ByteSource> source, ReadProgress progress,
                 std::function<void(const ReadProgress&)> report, std::shared_ptr<const EventCounter> events,
                 std::shared_ptr<const uint64_t> place = nullptr)
      : source_(std::move(source)),
        progress_(progress),
        report_(std::move(report)),
        events_(std::move(events)),
        place_(std::move(place)) {}

  Result<size_t> Read(std::span<std::byte> into) override {
    Result<size_t> count = source_->Read(into);
    if (!count) return count;
    taken_bytes_ += *count;
    if (*count == 0 || taken_bytes_ >= next_report_bytes_) {
      next_report_bytes_ = taken_bytes_ + kReportBytes;
      progress_.read_bytes = place_ ? *place_ : taken_bytes_;
      progress_.event_count = events_->Count();
      report_(progress_);
    }
    return count;
  }

 private:
  static constexpr uint64_t kReportBytes = 4 << 20;

  std::unique_ptr<ByteSource> source_;
  ReadProgress progress_;
  uint64_t taken_bytes_ = 0;
  uint64_t next_report_bytes_ = kReportBytes;
  std::function<void(const ReadProgress&)> report_;
  std::shared_ptr<const EventCounter> events_;
  std::shared_ptr<const uint64_t> place_;
};

}  // namespace memstrata
