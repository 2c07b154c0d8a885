#include "io/elf/dynamic_symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dryrun/library_writer.h"

namespace memstrata {
namespace {

using dryrun::WriteLibrary;

const std::string kLibrary =
    WriteLibrary({"libexample.so.1", {"libother.so.2", "libthird.so"}, {"cuFirst", "cuSecond"}});

TEST(DynamicSymbols, ReadsNamesNeedsAndSymbols) {
  const auto symbols = ReadDynamicSymbols(MemoryAccess(kLibrary));
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_EQ(symbols->name, "libexample.so.1");
  EXPECT_EQ(symbols->needed, (std::vector<std::string>{"libother.so.2", "libthird.so"}));
  EXPECT_EQ(symbols->defined,
            (std::vector<std::string>{"cuFirst", "cuSecond", "memstrata_generic_counts", "memstrata_generic_names"}));
  EXPECT_TRUE(symbols->undefined.empty());
}

TEST(DynamicSymbols, RefusesWhatIsNoLibrary) {
  for (const std::string& bytes : {std::string(), std::string("text"), std::string(4096, '\0')}) {
    const auto symbols = ReadDynamicSymbols(MemoryAccess(bytes));
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kUnsupportedFormat);
  }
}

TEST(DynamicSymbols, EveryShortenedFileIsRefused) {
  for (size_t length = 0; length < kLibrary.size(); ++length)
    EXPECT_FALSE(ReadDynamicSymbols(MemoryAccess(kLibrary.substr(0, length)))) << length;
}

// Whatever a file says, the answer is an error or symbols whose names come out of it: never a crash, never a long one.
TEST(DynamicSymbols, AnyChangedBytesAreSurvived) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = kLibrary;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    const auto symbols = ReadDynamicSymbols(MemoryAccess(changed));
    if (!symbols) continue;
    for (const std::string& name : symbols->defined) EXPECT_LT(name.size(), changed.size());
  }
}

}  // namespace
}  // namespace memstrata
