// What a snapshot becomes in the store, on inputs small enough to write down. The whole format is covered by
// tests/integration, whose answers come from an independent reader.

#include <fmt/format.h>
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

// A snapshot as the capture writes it: `block` is the value of its key "memstrata".
std::string Captured(std::string_view block) {
  return fmt::format(
      R"({{"segments": [], "device_traces": [[{{"action": "alloc", "addr": 256, "size": 512, "stream": 0, )"
      R"("time_us": 5}}]], "host_traces": [[{{"action": "alloc", "addr": 8, "size": 4, "stream": 0}}]], )"
      R"("memstrata": {}}})",
      block);
}

TEST(TorchSnapshotReader, CaptureNamesHeapsAndTellsTheDevice) {
  const Result<Store> store = Open(Captured(
      R"({"device_type": "xpu", "host_type": "cpu", "identity": "{}", "samples": [)"
      R"([0, 1795985500231191751, 600, 1000, 300, 200, 2, "step"], [0, 4000, 700, 1000, 300, 200, -1, "begin"],)"
      R"([1, 4000, 700, 1000, 300, 200, -1, "begin"]]})"));
  ASSERT_TRUE(store.has_value()) << store.error().message;
  ASSERT_EQ(store->heaps.size(), 2u);
  EXPECT_EQ(store->heaps[0].id, "xpu:0");
  EXPECT_EQ(store->heaps[1].id, "cpu:0");
  EXPECT_EQ(store->heaps[1].allocator, "torch_cpu");
  EXPECT_EQ(store->heaps[0].capacity_bytes, 1000u);
  ASSERT_EQ(store->heaps[0].device_samples.size(), 2u) << "by time, those of the other device left out";
  EXPECT_EQ(store->heaps[0].device_samples[0].reason, SampleReason::kBegin);
  EXPECT_EQ(store->heaps[0].device_samples[0].step, kNone);
  EXPECT_EQ(store->heaps[0].device_samples[1].reason, SampleReason::kStep);
  EXPECT_EQ(store->heaps[0].device_samples[1].time_ns, 1795985500231191751) << "more than 60 bits";
  EXPECT_EQ(store->heaps[0].device_samples[1].step, 2u);
  for (const Missing& missing : store->missing) EXPECT_NE(missing.what, "capacity");
}

TEST(TorchSnapshotReader, ACaptureIsNotToldToCapture) {
  for (const std::string_view host_type : {"host", "cpu"}) {
    const Result<Store> store =
        Open(Captured(fmt::format(R"({{"device_type": "cuda", "host_type": "{}", "identity": "{{}}"}})", host_type)));
    ASSERT_TRUE(store.has_value()) << store.error().message;
    for (const Missing& missing : store->missing) {
      EXPECT_EQ(missing.how_to_get.find("memstrata.profile"), std::string::npos) << missing.what;
      EXPECT_EQ(missing.how_to_get.find("_record_memory_history"), std::string::npos) << missing.what;
      if (host_type == "cpu") {
        EXPECT_EQ(missing.how_to_get.find("cuda"), std::string::npos) << missing.what;
      }
    }
  }
}

TEST(TorchSnapshotReader, HostileCaptureChangesNothing) {
  for (
      const std::string_view block :
      {R"([])", R"({"device_type": "../cuda", "host_type": "", "samples": 7})",
       R"({"samples": [[0], ["a", 1, 2, 3, 4, 5, 6, "step"], [0, -1, 2, 3, 4, 5, 6, "step"], [5000, 1, 2, 3, 4, 5, 6, 7], [0, 1, 9, 3, 4, 5, 6, "end"]]})"}) {
    const Result<Store> store = Open(Captured(block));
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ(store->heaps[0].id, "cuda:0") << block;
    EXPECT_EQ(store->heaps[1].id, "host:0") << block;
    EXPECT_TRUE(store->heaps[0].device_samples.empty()) << block;
    EXPECT_EQ(store->heaps[0].capacity_bytes, kUnknownBytes) << block;
  }
}

TEST(TorchSnapshotReader, FullBufferOfACaptureMakesALowerBound) {
  const Result<Store> store =
      Open(R"({"segments": [{"address": 256, "total_size": 512, "device": 0, "segment_type": "small", "stream": 0, )"
           R"("blocks": [{"address": 256, "size": 512, "requested_size": 512, "state": "active_allocated"}]}], )"
           R"("device_traces": [[{"action": "segment_alloc", "addr": 4096, "size": 512, "stream": 0}]], )"
           R"("memstrata": {"max_entries": 1}})");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_EQ(store->heaps[0].lower_bound, LowerBoundReason::kRingOverflow);
}

}  // namespace
}  // namespace memstrata
