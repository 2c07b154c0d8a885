#include "query/frame.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "model/table/id.h"

namespace memstrata {
namespace {

TEST(FrameWriter, LaysBytesOutAsDocumented) {
  FrameWriter frame("test");
  frame.attributes().Field("heap", 3U);
  frame.StartTable("columns", 3);
  frame.Values<uint16_t>("small", "count", std::vector<uint16_t>{1, 2, 65535});
  frame.Bytes("bytes", std::vector<uint64_t>{7, kUnknownBytes, (1ULL << 53) - 1});
  frame.Strings("name", std::vector<std::string_view>{"a", "", "a"});
  const std::string bytes = std::move(frame).Finish();

  ASSERT_EQ(bytes.substr(0, 4), "MSF1");
  uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, &bytes[4], 4);
  ASSERT_EQ((8 + header_bytes) % 8, 0U);
  const std::string header = bytes.substr(8, header_bytes);
  const std::string expected =
      R"({"kind":"test","attributes":{"heap":3},"strings":["","a"],"tables":[{"name":"columns","rows":3,"columns":[)"
      R"({"name":"small","type":"u16","unit":"count","offset":0},{"name":"bytes","type":"f64","unit":"bytes","offset":8},)"
      R"({"name":"name","type":"u32","unit":"string","offset":32}]}]})";
  EXPECT_EQ(header.substr(0, expected.size()), expected);
  EXPECT_EQ(header.find_first_not_of(' ', expected.size()), std::string::npos);
  const std::string_view data = std::string_view(bytes).substr(8 + header_bytes);
  ASSERT_EQ(data.size(), 48U);
  double values[3];
  std::memcpy(values, &data[8], sizeof values);
  EXPECT_EQ(values[0], 7.0);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 9007199254740991.0);
  EXPECT_EQ(data.substr(6, 2), std::string_view("\0\0", 2));
}

}  // namespace
}  // namespace memstrata
