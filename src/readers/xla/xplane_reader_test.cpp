#include "readers/xla/xplane_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "readers/xla/testing/xspace_builder.h"

namespace memstrata::xla {
namespace {

using namespace testing;

Result<Store> Read(std::string bytes) {
  return OpenBytes("host0.xplane.pb", std::move(bytes),
                   {.format = "", .context = {.limits = DefaultReadLimits(), .progress = {}}});
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

const Diagnostic* FindDiagnostic(const Store& store, std::string_view code) {
  for (const Diagnostic& diagnostic : store.diagnostics) {
    if (diagnostic.code == code) return &diagnostic;
  }
  return nullptr;
}

TEST(XPlaneReaderTest, OrdersThreadsByAbsoluteTime) {
  // The second thread starts 1 ms later, so that its event with the smaller offset is the later one.
  PlaneBuilder plane("/host:CPU");
  plane.Line("python", 0).Event("MemoryAllocation", 500'000'000, MemoryStats("GPU_0_bfc", 256, 744, 256, 256, 0x1000));
  plane.Line("worker", 1'000'000)
      .Event("MemoryDeallocation", 100'000'000, MemoryStats("GPU_0_bfc", 0, 1000, 256, 256, 0x1000));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_EQ(store->heaps.size(), 1u);
  const Heap& heap = store->heaps[0];
  EXPECT_EQ(heap.id, "GPU_0_bfc");
  EXPECT_EQ(heap.allocator, "bfc");
  EXPECT_EQ(heap.host, "host0");
  EXPECT_EQ(heap.capacity_bytes, 1000u);
  EXPECT_EQ(store->events.kind[0], EventKind::kAlloc);
  EXPECT_EQ(store->xplane.events.time_ps[0], 500'000'000);
  EXPECT_EQ(store->xplane.events.time_ps[1], 1'100'000'000);
  EXPECT_EQ(store->events.time_ns[1], 1'100'000);
  ASSERT_EQ(store->allocations.size(), 1u);
  EXPECT_EQ(store->allocations.free_seq[0], 1u);
  EXPECT_TRUE(heap.capabilities.complete_history);
  EXPECT_EQ(FindDiagnostic(*store, "heap_jump"), nullptr);
}

// A plain file is read in parts while it is decoded; a packed one lies in memory. Both must give the same.
TEST(XPlaneReaderTest, LargeFilesReadTheSamePackedAndPlain) {
  PlaneBuilder plane("/host:CPU");
  constexpr int64_t kEvents = 60'000;
  for (int thread = 0; thread < 3; ++thread) {
    plane.Line(fmt::format("thread {}", thread), thread * 10);
    for (int64_t i = thread; i < kEvents; i += 3)
      plane.Event("MemoryAllocation", i * 1000, MemoryStats("GPU_0_bfc", 256 * (i + 1), 0, 256, 256, 0x1000 + 256 * i));
  }
  const std::string bytes = SpaceBytes({plane.Bytes()});
  ASSERT_GT(bytes.size(), size_t{4} << 20);  // worth two threads
  const Result<Store> plain = Read(bytes);
  const Result<Store> packed = Read(Gzip(bytes));
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_TRUE(packed) << packed.error().message;
  ASSERT_EQ(plain->events.size(), static_cast<size_t>(kEvents));
  ASSERT_EQ(packed->events.size(), static_cast<size_t>(kEvents));
  for (size_t row = 0; row < plain->events.size(); ++row) {
    ASSERT_EQ(plain->xplane.events.heap_bytes[row], packed->xplane.events.heap_bytes[row]) << row;
    ASSERT_EQ(plain->xplane.events.time_ps[row], packed->xplane.events.time_ps[row]) << row;
    ASSERT_EQ(plain->events.addr[row], packed->events.addr[row]) << row;
  }
}

TEST(XPlaneReaderTest, OrdersEqualTimesByTheirHeapValues) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("a", 0).Event("MemoryAllocation", 1000, MemoryStats("GPU_0_bfc", 768, 0, 768, 256, 0x300));
  plane.Line("b", 0)
      .Event("MemoryAllocation", 1000, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 0x100))
      .Event("MemoryAllocation", 1000, MemoryStats("GPU_0_bfc", 512, 0, 512, 256, 0x200));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  const XPlaneEventTable& details = store->xplane.events;
  EXPECT_EQ(details.heap_bytes[0], 256u);
  EXPECT_EQ(details.heap_bytes[1], 512u);
  EXPECT_EQ(details.heap_bytes[2], 768u);
  EXPECT_EQ(details.file_order[2], 0u);
}

TEST(XPlaneReaderTest, TakesTheSizeOfTpuFreesFromTheirAllocation) {
  const auto tpu = [](int64_t heap_bytes, std::vector<StatValue> more) {
    std::vector<StatValue> stats = {Signed("device_ordinal", 3), Signed("bytes_reserved", 100),
                                    Signed("bytes_allocated", heap_bytes), Signed("bytes_available", 900 - heap_bytes),
                                    Signed("addr", 0x40)};
    stats.insert(stats.end(), more.begin(), more.end());
    return stats;
  };
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0)
      .Event("MemoryAllocation", 10, tpu(512, {Signed("allocation_bytes", 512), Signed("requested_bytes", 500)}))
      .Event("MemoryDeallocation", 20, tpu(0, {Signed("allocation_bytes", 0), Signed("requested_bytes", 0)}));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  EXPECT_EQ(store->heaps[0].id, "3");
  EXPECT_EQ(store->heaps[0].allocator, "tpu");
  EXPECT_EQ(store->events.size_bytes[1], 512u);
  EXPECT_TRUE(store->xplane.events.blind[1] & kBlindSize);
  EXPECT_EQ(store->xplane.events.stack_bytes[0], 100u);
}

TEST(XPlaneReaderTest, ReadsEveryEncodingOfAValue) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0).Event("MemoryAllocation", 10,
                           {Reference("allocator_name", "GPU_1_bfc"), Real("bytes_allocated", 256),
                            Text("allocation_bytes", "256"), Unsigned("addr", 0x8000000000000100),
                            Signed("tf_op", 1234), Signed("data_type", 14), Real("fragmentation", 0.25)});
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  const XPlaneEventTable& details = store->xplane.events;
  EXPECT_EQ(store->heaps[0].id, "GPU_1_bfc");
  EXPECT_EQ(details.heap_bytes[0], 256u);
  EXPECT_EQ(store->events.addr[0], 0x8000000000000100u);
  EXPECT_EQ(store->String(details.op[0]), "1234");
  EXPECT_EQ(store->String(details.data_type[0]), "bfloat16");
  EXPECT_EQ(details.blind[0], kBlindHeap | kBlindSize | kBlindAddress | kBlindOp);
  EXPECT_EQ(store->heaps[0].capacity_bytes, kUnknownBytes);
}

TEST(XPlaneReaderTest, CountsWhatLivedBeforeAndWhatIsMissing) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0)
      .Event("MemoryAllocation", 10, MemoryStats("GPU_0_bfc", 1256, 0, 1256, 256, 0x1))
      .Event("MemoryDeallocation", 20, MemoryStats("GPU_0_bfc", 956, 0, 1256, 300, 0x2))
      .Event("MemoryAllocation", 30, MemoryStats("GPU_0_bfc", 2000, 0, 2000, 256, 0x3));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  ASSERT_NE(FindDiagnostic(*store, "heap_jump"), nullptr);
  EXPECT_EQ(FindDiagnostic(*store, "heap_jump")->count, 1u);
  uint64_t preexisting_bytes = 0;
  for (uint32_t row = 0; row < store->allocations.size(); ++row) {
    if (store->allocations.alloc_seq[row] == kNone) preexisting_bytes += store->allocations.size_bytes[row];
  }
  EXPECT_EQ(preexisting_bytes, 1000u);
  EXPECT_FALSE(store->heaps[0].capabilities.complete_history);
}

TEST(XPlaneReaderTest, ReadsAllHostPlanesAndUnixTimes) {
  PlaneBuilder first("/host:CPU");
  first.Line("a", 1'700'000'000'000'000'000).Event("MemoryAllocation", 2000, MemoryStats("cpu", 64, 0, 64, 64, 1));
  PlaneBuilder second("/host:CPU [17]");
  second.Line("b", 1'700'000'000'000'000'001).Event("MemoryAllocation", 3000, MemoryStats("cpu", 128, 0, 128, 64, 2));
  const Result<Store> store = Read(SpaceBytes({first.Bytes(), second.Bytes()}));
  ASSERT_TRUE(store);
  EXPECT_EQ(store->events.size(), 2u);
  EXPECT_EQ(store->heaps[0].kind, HeapKind::kHost);
  EXPECT_EQ(store->heaps[0].time_base, TimeBase::kUnix);
  EXPECT_EQ(store->events.time_ns[1], 1'700'000'000'000'000'004);
  EXPECT_TRUE(store->xplane.lines[0].is_first_host_plane);
  EXPECT_FALSE(store->xplane.lines[1].is_first_host_plane);
}

TEST(XPlaneReaderTest, SaysWhyThereIsNoMemory) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("python", 0).Event("PyCall", 1, {}).Event("PyCall", 2, {});
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  EXPECT_TRUE(store->heaps.empty());
  ASSERT_EQ(store->missing.size(), 1u);
  EXPECT_NE(store->missing[0].why.find("2 other host events"), std::string::npos);
  PlaneBuilder environment("Task Environment");
  environment.PlaneStat(Bytes("profile_options", "\x08\x01\x10\x01"));  // host_tracer_level 1
  const Result<Store> with_options = Read(SpaceBytes({plane.Bytes(), environment.Bytes()}));
  ASSERT_TRUE(with_options);
  EXPECT_NE(with_options->missing[0].why.find("host_tracer_level 1 and 2 other host events"), std::string::npos);
  const Result<Store> device_only = Read(SpaceBytes({PlaneBuilder("/device:TPU:0").Bytes()}));
  ASSERT_TRUE(device_only);
  EXPECT_NE(device_only->missing[0].why.find("no host plane"), std::string::npos);
}

TEST(XPlaneReaderTest, KeepsWhatWasReadOfACutOffFile) {
  PlaneBuilder whole("/host:CPU");
  whole.Line("t", 0).Event("MemoryAllocation", 10, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1));
  PlaneBuilder second("/device:TPU:0");
  second.Line("XLA Modules", 0).Event("jit_f(1)", 5, {}, 100);
  std::string bytes = SpaceBytes({whole.Bytes(), second.Bytes()});
  bytes.resize(bytes.size() - 3);
  const Result<Store> store = Read(bytes);
  ASSERT_TRUE(store);
  EXPECT_TRUE(store->sources[0].truncated);
  EXPECT_EQ(store->events.size(), 1u);
  EXPECT_EQ(store->heaps[0].lower_bound, LowerBoundReason::kTruncated);
  EXPECT_NE(FindDiagnostic(*store, "truncated"), nullptr);
}

TEST(XPlaneReaderTest, LeavesOutDamagedEventsAndCountsThem) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0)
      .Event("MemoryAllocation", 10, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1))
      .Event("MemoryAllocation", 20, MemoryStats("GPU_0_bfc", -5, 0, 256, 256, 2))
      .Event("MemoryAllocation", INT64_MAX, MemoryStats("GPU_0_bfc", 512, 0, 512, 256, 3));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  EXPECT_EQ(store->events.size(), 1u);
  ASSERT_NE(FindDiagnostic(*store, "impossible_value"), nullptr);
  EXPECT_EQ(FindDiagnostic(*store, "impossible_value")->count, 2u);
}

TEST(XPlaneReaderTest, GivesModulesAndStepsAsSpans) {
  PlaneBuilder host("/host:CPU");
  host.Line("t", 0).Event("MemoryAllocation", 10, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1));
  PlaneBuilder device("/device:TPU:0");
  device.Line("XLA Modules", 7).Event("jit_f(1)", 5000, {}, 2000);
  device.Line("Steps", 7).Event("12", 5000, {}, 4000);
  const Result<Store> store = Read(SpaceBytes({host.Bytes(), device.Bytes()}));
  ASSERT_TRUE(store);
  ASSERT_EQ(store->spans.size(), 2u);
  EXPECT_EQ(store->spans.kind[0], SpanKind::kModule);
  EXPECT_EQ(store->spans.begin_ns[0], 12);
  EXPECT_EQ(store->spans.end_ns[0], 14);
  EXPECT_EQ(store->String(store->spans.name[1]), "12");
  ASSERT_EQ(store->xplane.modules.size(), 1u);
  EXPECT_TRUE(store->xplane.modules[0].is_tpu);
}

TEST(XPlaneReaderTest, NumbersStepsByRootEventsAcrossThreads) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("python", 0)
      .Event("train", 0, {Signed("_r", 1)}, 100)
      .Event("Enqueue", 10, {Signed("_pt", 2), Signed("_p", 77)}, 5)
      .Event("train", 200, {Signed("_r", 1)}, 100)
      .Event("MemoryAllocation", 250, MemoryStats("GPU_0_bfc", 512, 0, 512, 256, 2));
  plane.Line("worker", 0)
      .Event("Run", 150, {Signed("_ct", 2), Signed("_c", 77)}, 20)
      .Event("MemoryAllocation", 160, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  EXPECT_EQ(store->xplane.events.step[0], 0);
  EXPECT_EQ(store->xplane.events.step[1], 1);
}

TEST(XPlaneReaderTest, FindsProgramRunsOfGpusFromTheirLaunches) {
  PlaneBuilder device("/device:GPU:0");
  device.Line("Stream #1", 0)
      .Event("kernel_a", 700, {Unsigned("correlation_id", 5), Text("hlo_module", "jit_f")}, 50)
      .Event("kernel_b", 800, {Unsigned("correlation_id", 6), Text("hlo_module", "jit_f")}, 100)
      .Event("kernel_c", 2000, {Unsigned("correlation_id", 9), Text("hlo_module", "jit_f")}, 100);
  PlaneBuilder host("/host:CPU");
  host.Line("python", 0)
      .Event("SomeLoadedExecutable::Execute", 100, {}, 400)
      .Event("MemoryAllocation", 150, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1))
      .Event("GpuExecutable::Run", 200, {Text("module_name", "jit_f")}, 200)
      .Event("nested", 250, {Text("module_name", "jit_inner")}, 20)
      .Event("GpuExecutable::Run", 900, {Text("module_name", "jit_g")}, 50);
  host.Line("launches", 0)
      .Event("Launch", 210, {Unsigned("correlation_id", 5), Text("hlo_module", "jit_f"), Signed("program_id", 15)}, 5)
      .Event("Launch", 220, {Unsigned("correlation_id", 6), Text("hlo_module", "jit_f"), Signed("program_id", 15)}, 5);
  const Result<Store> store = Read(SpaceBytes({device.Bytes(), host.Bytes()}));
  ASSERT_TRUE(store);
  const std::vector<XPlaneLaunch>& launches = store->xplane.launches;
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(store->String(launches[0].module), "jit_f");
  EXPECT_EQ(launches[0].program_id, 15u);
  EXPECT_EQ(launches[0].begin_ps, 100);
  EXPECT_EQ(launches[0].end_ps, 500);
  EXPECT_EQ(store->String(launches[1].module), "jit_g");
  EXPECT_EQ(launches[1].program_id, std::nullopt);
  ASSERT_EQ(store->xplane.modules.size(), 1u);  // the third kernel belongs to no launch of the profile
  const XPlaneModule& run = store->xplane.modules[0];
  EXPECT_EQ(store->String(run.name), "jit_f(15)");
  EXPECT_EQ(run.offset_ps, 700);
  EXPECT_EQ(run.duration_ps, 200);
  EXPECT_FALSE(run.is_tpu);
  EXPECT_EQ(store->spans.kind[run.span], SpanKind::kModule);
}

TEST(XPlaneReaderTest, TakesStepsFromTheDeviceWhereTheHostHasNone) {
  const auto stats = [](int64_t device, int64_t heap_bytes) {
    return std::vector<StatValue>{Signed("device_ordinal", device), Signed("bytes_allocated", heap_bytes),
                                  Signed("allocation_bytes", 64), Signed("addr", heap_bytes)};
  };
  PlaneBuilder host("/host:CPU");
  host.Line("t", 0)
      .Event("MemoryAllocation", 5, stats(1, 64))
      .Event("MemoryAllocation", 150, stats(1, 128))
      .Event("MemoryAllocation", 150, stats(0, 64))
      .Event("MemoryAllocation", 250, stats(1, 192));
  PlaneBuilder device("/device:TPU:1");
  device.Line("Steps", 0).Event("41", 100, {}, 100).Event("42", 240, {}, 100);
  const Result<Store> store = Read(SpaceBytes({host.Bytes(), device.Bytes()}));
  ASSERT_TRUE(store);
  const XPlaneEventTable& details = store->xplane.events;
  EXPECT_EQ(details.step[0], kNoStep);  // device 0 has no steps
  EXPECT_EQ(details.step[1], kNoStep);
  EXPECT_EQ(details.step[2], 41);
  EXPECT_EQ(details.step[3], 42);
  EXPECT_EQ(details.xprof_step[3], kNoStep);
  EXPECT_EQ(FindDiagnostic(*store, "steps_by_time")->count, 2u);
}

TEST(XPlaneReaderTest, PassesOverWrongWireTypes) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_string(1, "a text where the id of the name belongs");
  writer.add_fixed64(2, 5);
  writer.add_int64(4, 7);
  std::string line;
  protozero::pbf_writer line_writer(line);
  line_writer.add_int64(2, 3);
  line_writer.add_string(3, "a text where the start belongs");
  line_writer.add_message(4, event);
  std::string plane;
  protozero::pbf_writer plane_writer(plane);
  plane_writer.add_string(2, "/host:CPU");
  plane_writer.add_message(3, line);
  plane_writer.add_int64(4, 12);
  const Result<Store> store = Read(SpaceBytes({plane}));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(store->heaps.empty());
  EXPECT_NE(store->missing[0].why.find("1 other host events"), std::string::npos);
}

TEST(XPlaneReaderTest, CountsTimesThatRunBackwards) {
  PlaneBuilder plane("/host:CPU");
  plane.Line("t", 0)
      .Event("MemoryAllocation", 5'000'000'000'000, MemoryStats("GPU_0_bfc", 512, 0, 512, 256, 2))
      .Event("MemoryAllocation", 1'000'000'000'000, MemoryStats("GPU_0_bfc", 256, 0, 256, 256, 1))
      .Event("MemoryAllocation", 999'000'000'000, MemoryStats("GPU_1_bfc", 256, 0, 256, 256, 1));
  const Result<Store> store = Read(SpaceBytes({plane.Bytes()}));
  ASSERT_TRUE(store);
  ASSERT_NE(FindDiagnostic(*store, "clock_jump"), nullptr);
  EXPECT_EQ(FindDiagnostic(*store, "clock_jump")->count, 1u);
  EXPECT_EQ(store->xplane.events.heap_bytes[0], 256u);  // in the order of their times
}

TEST(XPlaneReaderTest, RefusesOtherFilesNamedLikeOne) {
  const Result<Store> store = Read(std::string("\xEF\xBF\xBD\xEF\xBF\xBDnot a profile", 20));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kCorruptInput);
}

}  // namespace
}  // namespace memstrata::xla
