#include "oom/text/log_text.h"

#include <gtest/gtest.h>

namespace memstrata::oom {
namespace {

TEST(ReadLog, JoinsWrappedLines) {
  const auto streams = ReadLog("Tried to\r\n   allocate 2.00 MiB\n");
  ASSERT_EQ(streams.size(), 1U);
  EXPECT_EQ(streams[0].text, "Tried to allocate 2.00 MiB");
  EXPECT_EQ(streams[0].LineOf(0), 1U);
  EXPECT_EQ(streams[0].LineOf(streams[0].text.find("allocate")), 2U);
}

TEST(ReadLog, KeepsInterleavedRanksApart) {
  const auto streams = ReadLog("[rank0]: Tried to\n[rank1]: Tried too\n[rank0]: allocate\nplain\n");
  ASSERT_EQ(streams.size(), 3U);
  EXPECT_EQ(streams[0].prefix, "[rank0]");
  EXPECT_EQ(streams[0].text, "Tried to allocate");
  EXPECT_EQ(streams[1].text, "Tried too");
  EXPECT_EQ(streams[2].prefix, "");
}

TEST(ReadLog, TakesOffColoursQuotesAndEscapes) {
  const auto streams = ReadLog("> \x1b[31m`CUDA`\x1b[0m **out** of \\\"memory\\\"\\nnext &gt; last");
  ASSERT_EQ(streams.size(), 1U);
  EXPECT_EQ(streams[0].text, "CUDA out of \"memory\" next > last");
}

TEST(ReadLog, AWorkerIsAPrefix) {
  const auto streams = ReadLog("(EngineCore_0 pid=12) ERROR x\n(not a worker) y\n");
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_EQ(streams[0].prefix, "(EngineCore_0 pid=12)");
  EXPECT_EQ(streams[1].text, "(not a worker) y");
}

TEST(ReadLog, AnyBytesAreText) {
  EXPECT_TRUE(ReadLog("").empty());
  EXPECT_EQ(ReadLog(std::string("a\0b\x1b", 4))[0].text, "a b");
}

}  // namespace
}  // namespace memstrata::oom
