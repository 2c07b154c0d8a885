#include "base/tab_lines.h"

#include <gtest/gtest.h>

namespace memstrata {
namespace {

TEST(TabLines, FieldsWithEveryEscapedByteComeBack) {
  const std::vector<std::string> fields = {"plain", "", "tab\there", "line\nbreak", "back\\slash", "\\t is not a tab"};
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + TabField(field);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(SplitTabLine(line), fields);
}

TEST(TabLines, ALoneBackslashAtTheEndStays) { EXPECT_EQ(SplitTabLine("a\\"), std::vector<std::string>{"a\\"}); }

TEST(TabLines, ANumberIsDigitsAlone) {
  EXPECT_EQ(ParseUnsigned("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "1 ", "+1", "0x1", "18446744073709551616"})
    EXPECT_EQ(ParseUnsigned(text), std::nullopt) << text;
}

}  // namespace
}  // namespace memstrata
