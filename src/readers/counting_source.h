#pragma once
// Counts the bytes that a reader takes, so that people see how far it is.

#include <memory>
#include <utility>

#include "readers/reader.h"

namespace memstrata {

/// Passes `source` on and reports every kReportBytes and at the end.
class CountingSource final : public ByteSource {
 public:
  CountingSource(std::unique_ptr<ByteSource> source, ReadProgress progress,
                 std::function<void(const ReadProgress&)> report, std::shared_ptr<const EventCounter> events)
      : source_(std::move(source)), progress_(progress), report_(std::move(report)), events_(std::move(events)) {}

  Result<size_t> Read(std::span<std::byte> into) override {
    Result<size_t> count = source_->Read(into);
    if (!count) return count;
    progress_.read_bytes += *count;
    if (*count == 0 || progress_.read_bytes >= next_report_bytes_) {
      next_report_bytes_ = progress_.read_bytes + kReportBytes;
      progress_.event_count = events_->Count();
      report_(progress_);
    }
    return count;
  }

 private:
  static constexpr uint64_t kReportBytes = 4 << 20;

  std::unique_ptr<ByteSource> source_;
  ReadProgress progress_;
  uint64_t next_report_bytes_ = kReportBytes;
  std::function<void(const ReadProgress&)> report_;
  std::shared_ptr<const EventCounter> events_;
};

}  // namespace memstrata
