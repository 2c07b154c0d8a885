#include "readers/counting_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace memstrata {
namespace {

TEST(CountingSource, PassesAllBytesOnAndReportsThem) {
  const std::string bytes((9 << 20) + 5, 'x');
  std::vector<uint64_t> reports;
  CountingSource source(
      std::make_unique<MemorySource>(bytes), {.file = "a.pickle", .read_bytes = 0, .total_bytes = bytes.size()},
      [&](const ReadProgress& progress) {
        EXPECT_EQ(progress.file, "a.pickle");
        EXPECT_EQ(progress.total_bytes, bytes.size());
        EXPECT_EQ(progress.event_count, std::nullopt);
        reports.push_back(progress.read_bytes);
      },
      std::make_shared<EventCounter>());
  const Result<std::string> all = ReadAll(source, bytes.size());
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, bytes);
  ASSERT_GE(reports.size(), 3U);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), bytes.size());
}

TEST(CountingSource, AsksAReaderThatCountsItsEvents) {
  const auto counter = std::make_shared<EventCounter>();
  std::vector<std::optional<uint64_t>> counts;
  CountingSource source(
      std::make_unique<MemorySource>("abc"), {.file = "a"},
      [&](const ReadProgress& progress) { counts.push_back(progress.event_count); }, counter);
  uint64_t event_count = 7;
  {
    const EventCounter::Scope counting(counter.get(), [&] { return event_count; });
    std::byte buffer[4];
    ASSERT_TRUE(source.Read(buffer));
    event_count = 9;
    ASSERT_TRUE(source.Read(buffer));
  }
  std::byte buffer[4];
  ASSERT_TRUE(source.Read(buffer));
  ASSERT_GE(counts.size(), 2U);
  EXPECT_EQ(counts[counts.size() - 2], 9U);
  EXPECT_EQ(counts.back(), std::nullopt) << "the reader is done";
}

}  // namespace
}  // namespace memstrata
