// What a snapshot becomes in the store, on inputs small enough to write down. The whole format is covered by
// tests/integration, whose answers come from an independent reader.

#include <gtest/gtest.h>

#include "readers/reader.h"

namespace memstrata {
namespace {

using namespace std::string_literals;

Result<Store> Open(std::string bytes) {
  OpenOptions options;
  options.context.limits = DefaultReadLimits();
  return OpenBytes("snapshot", std::move(bytes), options);
}

// One allocation event in protocol 2, without the opcode that ends the dict.
const std::string kOpenEvent = "}(U\6actionU\5allocU\4addrM\0\1U\4sizeM\0\2U\6streamK\0"s;
const std::string kTraceBegin = "\x80\2}(U\10segments]U\15device_traces](](";

TEST(TorchSnapshotReader, CutFileKeepsEventsThatNoAppendsHasTaken) {
  const Result<Store> store = Open(kTraceBegin + kOpenEvent + "u" + kOpenEvent + "u" + kOpenEvent);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE(store->sources[0].truncated);
  EXPECT_EQ(store->events.size(), 2u) << "the third event is half there";
  EXPECT_EQ(store->events.size_bytes[1], 512u);
}

TEST(TorchSnapshotReader, CutFileKeepsTheOnlyTraceOfAListWithoutMark) {
  const Result<Store> store = Open("\x80\2}(U\10segments]U\15device_traces]](" + kOpenEvent + "u" + kOpenEvent);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_EQ(store->events.size(), 1u);
}

TEST(TorchSnapshotReader, Protocol0SetsOneItemAtATime) {
  const Result<Store> store = Open(
      "(dp0\nVsegments\np1\n(lp2\nsVdevice_traces\np3\n(lp4\n(lp5\n("
      "dp6\nVaction\np7\nValloc\np8\nsVaddr\np9\nI256\nsVsize\np10\nI512\n"
      "sVstream\np11\nI0\nsaas.");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  ASSERT_EQ(store->events.size(), 1u);
  EXPECT_EQ(store->events.kind[0], EventKind::kAlloc);
  EXPECT_EQ(store->events.size_bytes[0], 512u);
}

TEST(TorchSnapshotReader, RefusedGlobalIsNamedAtItsOpcode) {
  const Result<Store> store = Open("\x80\2}(U\10segmentscos\nsystem\n(tRu.");
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kUnsupportedFormat);
  EXPECT_NE(store.error().message.find("os.system"), std::string::npos);
  EXPECT_EQ(store.error().offset_bytes, 14u);
}

TEST(TorchSnapshotReader, NoFreeByteOnTheDeviceIsKnownAndMissingIsNot) {
  const Result<Store> store =
      Open(R"({"segments": [], "device_traces": [[{"action": "oom", "device_free": 0, "size": 1024, "stream": 0},)"
           R"({"action": "oom", "size": 1024, "stream": 0}]]})");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  ASSERT_EQ(store->events.size(), 2u);
  EXPECT_EQ(store->events.addr[0], 0u);
  EXPECT_EQ(store->events.addr[1], kUnknownBytes);
}

}  // namespace
}  // namespace memstrata
