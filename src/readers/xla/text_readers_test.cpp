#include "readers/xla/text_readers.h"

#include <gtest/gtest.h>

#include "readers/xla/report_text.h"

namespace memstrata::xla {
namespace {

Result<Store> Read(std::string file, std::string text) {
  return OpenBytes(std::move(file), std::move(text),
                   {.format = "", .context = {.limits = DefaultReadLimits(), .progress = {}}});
}

uint64_t CountOf(const Store& store, std::string_view code) {
  for (const Diagnostic& diagnostic : store.diagnostics) {
    if (diagnostic.code == code) return diagnostic.count;
  }
  return 0;
}

constexpr std::string_view kAssignment =
    "BufferAssignment:\n"
    "allocation 0: size 1024, parameter 2, shape |f32[256]| at ShapeIndex {}, maybe-live-out:\n"
    " value: <7 p.1 @0> (size=1024,offset=0): f32[256]{0}\n"
    "allocation 1: size 16, output shape is |(f32[256], f32[])|, maybe-live-out:\n"
    " value: <9 tuple.3{} @0> (size=16,offset=0): (f32[256]{0}, f32[])\n"
    "allocation 2: size 4, constant:\n"
    " value: <3 c @0> (size=4,offset=0): f32[]\n"
    "allocation 3: size 4, thread-local:\n"
    " value: <4 add.2 @0> (size=4,offset=0): f32[]\n"
    "allocation 4: size 4096, color 1, preallocated-temp:\n"
    " value: <11 while.6{1,0} (phi) @1> (size=2048,offset=1024): f32[16,16]{1,0:T(8,128)}\n"
    " value: <12 fusion @1> (size=512,offset=0): f32[128]{0}\n";

TEST(AssignmentTextTest, ReadsAllocationsAndValues) {
  const Result<Store> store = Read("d/module_1.jit_f.cpu-buffer-assignment.txt", std::string(kAssignment));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->sources[0].format, "xla_buffer_assignment");
  ASSERT_EQ(store->programs.size(), 1u);
  const Program& program = store->programs[0];
  EXPECT_EQ(program.name, "module_1.jit_f.cpu");
  ASSERT_EQ(program.allocations.size(), 5u);
  const ProgramAllocation& argument = program.allocations[0];
  EXPECT_TRUE(argument.is_entry_parameter && argument.may_live_out);
  EXPECT_EQ(argument.parameter_number, 2);
  EXPECT_TRUE(program.allocations[1].is_tuple);
  EXPECT_TRUE(program.allocations[2].is_constant);
  EXPECT_TRUE(program.allocations[3].is_thread_local);
  const ProgramAllocation& temp = program.allocations[4];
  EXPECT_TRUE(temp.is_temporary());
  EXPECT_EQ(temp.space, 1);
  ASSERT_EQ(temp.assigned.size(), 2u);
  EXPECT_EQ(temp.assigned[0].offset_bytes, 1024u);
  const ProgramBuffer& buffer = program.buffers[temp.assigned[0].buffer];
  EXPECT_EQ(buffer.id, 11);
  EXPECT_EQ(buffer.size_bytes, 2048u);
  EXPECT_EQ(buffer.unpadded_bytes, 1024u);
  EXPECT_EQ(buffer.shape_index, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(buffer.space, 1);
  EXPECT_EQ(store->String(program.instructions[buffer.instruction].name), "while.6");
  EXPECT_TRUE(store->diagnostics.empty());
  ASSERT_EQ(store->missing.size(), 1u);
}

TEST(AssignmentTextTest, CountsLinesThatItDoesNotKnowAndCutOffEnds) {
  std::string text(kAssignment);
  text += "allocation five: size 3\nsomething new\n";
  text += "allocation 9: size 64, preallocated-temp:\n value: <13 g @0> (size=64,off";
  const Result<Store> store = Read("x.txt", text);
  ASSERT_TRUE(store);
  EXPECT_EQ(CountOf(*store, "unknown_line"), 2u);
  EXPECT_TRUE(store->sources[0].truncated);
  EXPECT_EQ(store->programs[0].allocations.size(), 6u);
}

TEST(AssignmentTextTest, PassesOverTheRepetitionOfOlderReports) {
  std::string text(kAssignment);
  text += "\nTotal bytes used: 5144 (5.0KiB)\n\nUsed values:\n<7 p.1 @0>\n positions:\n  p.1\n";
  const Result<Store> store = Read("x.txt", text);
  ASSERT_TRUE(store);
  EXPECT_EQ(CountOf(*store, "unknown_line"), 0u);
}

TEST(MemoryReportTest, ReadsTheNewerForm) {
  const Result<Store> store =
      Read("jit_f.cpu-memory-usage-report.txt",
           "Memory Space: default (color=0)\n"
           "Total bytes: 1607684 (1.53MiB)\n"
           "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
           "  ------------------------------------------------------------\n"
           "    1.53MiB(100%);    1.53MiB;            0;                2; f32[128,256], 2×f32[784,512]\n"
           "\n"
           "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
           "  ------------------------------------------------------------\n"
           "     2.0KiB( 99%);     2.0KiB;            0;                1; f32[512]\n"
           "         4B(100%);         4B;         2048;                1; s32[]\n");
  ASSERT_TRUE(store) << store.error().message;
  const Program& program = store->programs[0];
  EXPECT_EQ(program.name, "jit_f.cpu");
  EXPECT_FALSE(program.has_roles);
  EXPECT_FALSE(program.has_rounded_sizes);  // 1,605,632 + 2,052 = the total
  ASSERT_EQ(program.allocations.size(), 2u);
  EXPECT_EQ(program.allocations[0].size_bytes, 784u * 512 * 4);
  EXPECT_EQ(program.allocations[1].size_bytes, 2052u);
  EXPECT_EQ(program.stated_total_bytes, 1607684u);
  EXPECT_EQ(store->missing.size(), 2u);
}

TEST(MemoryReportTest, ReadsTheOlderFormAndSaysWhatIsRounded) {
  const Result<Store> store = Read("x.txt",
                                   "Total bytes used: 786552 (768.1KiB)\n\n"
                                   "Allocations sorted by size:\n\n"
                                   "cumulative_size; total_size - cumulative_size; allocation\n"
                                   "------------------------------------------------------------------------------\n"
                                   "  512.0KiB( 67%);   256.1KiB; allocation 6: size 512.0KiB, preallocated-temp:\n"
                                   "The rest 2 allocations are less than 50% of the total size and not shown.\n"
                                   "\n\nAllocations sorted by size with their values:\n"
                                   "allocation 6: size 512.0KiB, preallocated-temp:\n\n"
                                   "\tcumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
                                   "\t------------------------------------------------------------\n"
                                   "\t 256.0KiB( 50%);   256.0KiB;       262144;                1; f32[256,256]\n"
                                   "\t 512.0KiB(100%);   256.0KiB;            0;                3; 3×f32[65536]\n\n"
                                   "allocation 0: size 256.0KiB, parameter 0, shape |f32[256,256]| at ShapeIndex {}:\n"
                                   "allocation 1: size 120B, output shape is |f32[30]|, maybe-live-out:\n");
  ASSERT_TRUE(store);
  const Program& program = store->programs[0];
  EXPECT_TRUE(program.has_roles);
  ASSERT_EQ(program.allocations.size(), 3u);
  EXPECT_EQ(program.allocations[0].size_bytes, 524288u);
  EXPECT_EQ(program.allocations[1].size_bytes, 262144u);
  EXPECT_EQ(program.allocations[2].size_bytes, 120u);
  EXPECT_FALSE(program.has_rounded_sizes);
  EXPECT_EQ(CountOf(*store, "left_out_by_xla"), 2u);
  const Result<Store> rounded =
      Read("x.txt", "Total bytes used: 5000000 (4.77MiB)\nallocation 0: size 4.77MiB, preallocated-temp:\n");
  ASSERT_TRUE(rounded);
  EXPECT_TRUE(rounded->programs[0].has_rounded_sizes);
  EXPECT_EQ(CountOf(*rounded, "rounded_sizes"), 1u);
}

TEST(MemoryReportTest, WritesAndReadsSizesAsXlaDoes) {
  for (const auto& [bytes, text] : std::vector<std::pair<uint64_t, std::string_view>>{{0, "0B"},
                                                                                      {1023, "1023B"},
                                                                                      {1024, "1.0KiB"},
                                                                                      {401408, "392.0KiB"},
                                                                                      {1605632, "1.53MiB"},
                                                                                      {uint64_t{3} << 30, "3.00GiB"}}) {
    EXPECT_EQ(ReportBytes(bytes), text);
    const std::optional<uint64_t> read = ParseReportBytes(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(ReportBytes(*read), text);
  }
  for (const std::string_view text : {"", "KiB", "1.5XiB", "-3B", "nan", "1e400B"})
    EXPECT_FALSE(ParseReportBytes(text)) << text;
}

}  // namespace
}  // namespace memstrata::xla
