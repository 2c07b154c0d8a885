#include "readers/pprof/pprof_reader.h"

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_writer.hpp>

namespace memstrata::pprof {
namespace {

Result<Store> Read(std::string bytes) {
  return OpenBytes("memory.prof", std::move(bytes),
                   {.format = "", .context = {.limits = DefaultReadLimits(), .progress = {}}});
}

std::string Message(const std::function<void(protozero::pbf_writer&)>& write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

// Strings by index in the table.
enum Text : int64_t {
  kEmpty,
  kAllocations,
  kCount,
  kSpace,
  kBytes,
  kDevice,
  kGpu,
  kKind,
  kBuffer,
  kExecutable,
  kMain,
  kFile
};

std::string MakeProfile(Text second_unit) {
  return Message([&](protozero::pbf_writer& profile) {
    const auto pair = [](int64_t a, int64_t b) {
      return Message([&](protozero::pbf_writer& type) {
        type.add_int64(1, a);
        type.add_int64(2, b);
      });
    };
    profile.add_message(1, pair(kAllocations, kCount));
    profile.add_message(1, pair(kSpace, second_unit));
    const auto sample = [&](std::vector<int64_t> values, std::vector<std::pair<Text, Text>> labels) {
      profile.add_message(2, Message([&](protozero::pbf_writer& writer) {
                            const uint64_t location = 1;
                            writer.add_packed_uint64(1, &location, &location + 1);
                            writer.add_packed_int64(2, values.begin(), values.end());
                            for (const auto& [key, text] : labels) writer.add_message(3, pair(key, text));
                          }));
    };
    sample({1, 1000}, {{kKind, kBuffer}, {kDevice, kGpu}});
    sample({3, 301}, {{kKind, kBuffer}, {kDevice, kGpu}});
    sample({1, 50}, {{kKind, kExecutable}});
    profile.add_message(4, Message([&](protozero::pbf_writer& location) {
                          location.add_uint64(1, 1);
                          location.add_message(4, pair(7, 12));
                        }));
    profile.add_message(5, Message([&](protozero::pbf_writer& function) {
                          function.add_uint64(1, 7);
                          function.add_int64(2, kMain);
                          function.add_int64(4, kFile);
                        }));
    for (const char* text : {"", "allocations", "count", "space", "bytes", "device", "gpu:0", "kind", "buffer",
                             "executable", "main", "train.py"}) {
      profile.add_string(6, text);
    }
  });
}

TEST(PprofReaderTest, MakesOneHeapADevice) {
  const Result<Store> store = Read(MakeProfile(kBytes));
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_EQ(store->heaps.size(), 2u);
  EXPECT_EQ(store->heaps[0].id, "executable");
  EXPECT_EQ(store->heaps[1].id, "gpu:0");
  uint64_t bytes = 0;
  for (uint32_t row = store->heaps[1].allocations.begin; row < store->heaps[1].allocations.end; ++row) {
    bytes += store->allocations.size_bytes[row];
  }
  EXPECT_EQ(bytes, 1301u);
  EXPECT_EQ(store->heaps[1].allocations.size(), 4u);
  const StackTable& stacks = store->stacks.stacks();
  const FrameId frame = stacks.frame[store->allocations.stack[store->heaps[1].allocations.begin].value];
  EXPECT_EQ(store->String(store->stacks.frames().file[frame.value]), "train.py");
  EXPECT_EQ(store->stacks.frames().line[frame.value], 12u);
}

TEST(PprofReaderTest, RefusesProfilesThatCountNoBytes) {
  const Result<Store> store = Read(MakeProfile(kCount));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kUnsupportedFormat);
}

}  // namespace
}  // namespace memstrata::pprof
