#include "readers/counting_source.h"

#include <gtest/gtest.h>

#include <vector>

namespace memstrata {
namespace {

TEST(CountingSource, PassesAllBytesOnAndReportsThem) {
  const std::string bytes((9 << 20) + 5, 'x');
  std::vector<uint64_t> reports;
  CountingSource source(std::make_unique<MemorySource>(bytes), {"a.pickle", 0, bytes.size()},
                        [&](const ReadProgress& progress) {
                          EXPECT_EQ(progress.file, "a.pickle");
                          EXPECT_EQ(progress.total_bytes, bytes.size());
                          reports.push_back(progress.read_bytes);
                        });
  const Result<std::string> all = ReadAll(source, bytes.size());
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, bytes);
  ASSERT_GE(reports.size(), 3U);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), bytes.size());
}

}  // namespace
}  // namespace memstrata
