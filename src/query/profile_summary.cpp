#include "query/profile_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/program_memory/program_summary.h"
#include "base/units.h"

namespace memstrata {
namespace {

ProfileHolder HolderOf(const ProfileView& view, const ProfileAllocator& allocator, const ProfileRow& row) {
  ProfileHolder holder;
  holder.block_count = row.count;
  holder.category = "unknown";
  if (row.remainder != kNone) {
    const ProfileRemainder& rest = allocator.remainders[row.remainder];
    holder.bytes = rest.bytes;
    holder.block_count = 0;
    holder.name = rest.name;
    holder.is_before_recording = rest.name == kBeforeRecordingName;
    if (rest.name == kStackName) holder.category = "stack";
    return holder;
  }
  const ProfileSnapshot& block = allocator.kept[row.snapshot];
  holder.bytes = static_cast<int64_t>(view.SizeBytes(block.row) * row.count);
  holder.requested_bytes = view.RequestedBytes(block.row) * row.count;
  holder.op = KnownText(view.Op(block.label_row));
  holder.region_type = KnownText(view.Region(block.label_row));
  if (view.DataType(block.label_row) != "INVALID") holder.data_type = std::string(view.DataType(block.label_row));
  holder.shape = KnownText(view.Shape(block.label_row));
  return holder;
}

// The memory of the device that a heap lies on, by the profile's device plane ("/device:GPU:0").
std::optional<uint64_t> DeviceMemoryOf(const Store& store, const Heap& heap) {
  if (heap.kind != HeapKind::kDevice) return std::nullopt;
  const std::string number = fmt::format(":{}", heap.device);
  for (const XPlaneSource& source : store.xplane.sources) {
    if (source.source != heap.source) continue;
    for (const auto& [plane, size_bytes] : source.device_memory_bytes) {
      if (plane.ends_with(number)) return size_bytes;
    }
  }
  return std::nullopt;
}

// Share of the recording's time in which 99 % of the peak or more are in use.
double FlatShare(const Store& store, const Heap& heap, uint64_t peak_bytes) {
  const ProfileView view(store, false);
  int64_t flat_ps = 0;
  for (uint32_t row = heap.events.begin; row + 1 < heap.events.end; ++row) {
    if (view.UsedBytes(row) >= peak_bytes - peak_bytes / 100) flat_ps += view.TimePs(row + 1) - view.TimePs(row);
  }
  const int64_t all_ps = view.TimePs(heap.events.end - 1) - view.TimePs(heap.events.begin);
  return all_ps <= 0 ? 0 : static_cast<double>(flat_ps) / static_cast<double>(all_ps);
}

void AddNotes(const Store& store, const Heap& heap, const ProfileAllocator& allocator, ProfileSummary& summary) {
  std::vector<std::string>& notes = summary.notes;
  constexpr double kWorthSaying = 0.0005;  // 0.1 % as printed
  notes.emplace_back(
      heap.kind == HeapKind::kDevice
          ? "This memory is what the program's own allocator (of XLA or TensorFlow) manages. It usually takes its "
            "whole "
            "pool at start, so that the driver shows all of the pool as used."
          : "This memory is what the program's own allocator (of XLA or TensorFlow) manages, on the host.");
  if (summary.largest_request_bytes && summary.fragmentation >= kWorthSaying) {
    notes.push_back(
        fmt::format("Fragmentation {} means that the largest free piece is {} of what is free in the pool. If the pool "
                    "has its full "
                    "size, the largest request that would still succeed at the peak is {} of {} free.",
                    FormatPercent(summary.fragmentation), FormatPercent(1 - summary.fragmentation),
                    FormatBytes(*summary.largest_request_bytes), FormatBytes(*summary.free_bytes)));
  }
  constexpr double kMostlyFlat = 0.7;
  if (const double flat = FlatShare(store, heap, summary.used_bytes); flat >= kMostlyFlat) {
    notes.push_back(fmt::format(
        "The line is flat for {} of the time: {}", FormatPercent(flat),
        summary.stack_bytes > 0
            ? "a TPU program reserves its stack when it starts, and what was allocated before the profiler was on "
              "stays. The plan of the program shows what happens inside."
            : "what is live then was allocated before the profiler was on, or is kept."));
  }
  notes.emplace_back(
      "This view is measured over time and across programs; the static plan of a program is in its own order and knows "
      "no other program.");
  const std::optional<uint64_t> device_bytes = DeviceMemoryOf(store, heap);
  if (device_bytes && summary.capacity_bytes) {
    notes.push_back(fmt::format(
        "The capacity of {} is the allocator's limit; the device itself has {}. What lies between is for the "
        "driver, libraries and other processes.",
        FormatBytes(*summary.capacity_bytes), FormatBytes(*device_bytes)));
  }
  if (allocator.lifetime_peak_bytes > allocator.peak_used_bytes) {
    notes.push_back(fmt::format("The allocator's heap was higher before the recording: {} at its highest.",
                                FormatBytes(allocator.lifetime_peak_bytes)));
  }
}

// The run that reaches the peak, if its plan is here.
const ProgramUse* ProgramAtPeak(const ProfileSummary& summary) {
  for (const ProgramUse& use : summary.programs) {
    const bool has_peak = use.highest.high_seq == summary.peak_seq;
    if (has_peak && use.highest.program != kNone) return &use;
  }
  return nullptr;
}

std::string DescribeBlock(const Store& store, const Heap& heap, uint32_t block) {
  const uint32_t row = store.EventRow(heap, store.allocations.alloc_seq[block]);
  const ProfileView view(store, false);
  const std::optional<std::string> op = KnownText(view.Op(row));
  const std::optional<std::string> shape = KnownText(view.Shape(row));
  std::string text = FormatBytes(store.allocations.size_bytes[block]);
  if (op) text += " " + *op;
  if (shape) text += " " + *shape;
  return text;
}

void AddHelpSentences(const Store& store, const Heap& heap, ProfileSummary& summary) {
  ProfileHelp& help = summary.help;
  const HeapPressure& pressure = help.pressure;
  const auto say = [&](std::string sentence) { help.sentences.push_back(std::move(sentence)); };
  if (!pressure.largest.empty()) {
    std::string blocks;
    for (const uint32_t block : pressure.largest)
      blocks += (blocks.empty() ? "" : "; ") + DescribeBlock(store, heap, block);
    say(fmt::format("The largest blocks at the peak hold {}: {}.", FormatBytes(pressure.largest_bytes), blocks));
  }
  say(fmt::format("Rounding of requests up to the allocator's chunks takes {} there.",
                  FormatBytes(pressure.rounding_bytes)));
  if (pressure.temporary_count > 0) {
    say(fmt::format("{} are alive together there: {}.", FormatCount(pressure.temporary_count, "temporary block"),
                    FormatBytes(pressure.temporary_bytes)));
  }
  if (help.program.empty()) return;
  say(
      fmt::format("The plan of {}, which runs then, keeps {} of temporaries alive together, loses {} to padding of "
                  "layouts, and would save up to {} by donating arguments (donate_argnums).",
                  help.program, FormatBytes(help.program_temporary_bytes), FormatBytes(help.program_padding_bytes),
                  FormatBytes(help.program_donation_bytes)));
}

void AddHelp(const Store& store, const Heap& heap, uint32_t peak_row, ProfileSummary& summary) {
  constexpr double kNearCapacity = 0.8;
  ProfileHelp& help = summary.help;
  help.is_near_capacity = summary.utilization.value_or(0) >= kNearCapacity;
  help.pressure = PressureAt(store, heap, peak_row);
  if (const ProgramUse* use = ProgramAtPeak(summary)) {
    const ProgramSummary plan = SummarizeProgram(store.programs[use->highest.program]);
    help.program = use->name;
    help.program_padding_bytes = plan.padding_bytes;
    help.program_donation_bytes = plan.donation_bytes;
    help.program_temporary_bytes = plan.temporaries_at_peak_bytes.value_or(plan.temp_bytes.value_or(0));
  }
  if (help.is_near_capacity) AddHelpSentences(store, heap, summary);
}

// From the addresses, the other way to the largest request.
void AddHoleNote(ProfileSummary& summary) {
  const HeapPressure& pressure = summary.help.pressure;
  if (!pressure.largest_hole_bytes || *pressure.largest_hole_bytes == 0) return;
  // Addresses of a stack, or of several pools, lie between: then the gaps are no holes.
  const bool is_inside_pool = summary.free_bytes && *pressure.largest_hole_bytes <= *summary.free_bytes;
  if (summary.stack_bytes > 0 || !is_inside_pool) return;
  summary.notes.push_back(
      pressure.unplaced_bytes == 0
          ? fmt::format(
                "By the addresses of its blocks, the largest hole between live blocks at the peak is {}; beyond "
                "the highest address that the recording names there may be more.",
                FormatBytes(*pressure.largest_hole_bytes))
          : fmt::format("By the addresses of its blocks, the largest hole between live blocks at the peak is at most "
                        "{}: {} are live at addresses that the recording does not name.",
                        FormatBytes(*pressure.largest_hole_bytes), FormatBytes(pressure.unplaced_bytes)));
}

void AddDifferences(const ProfileAllocator& ours, const ProfileAllocator* theirs, const ProfileView& xprof_view,
                    std::vector<std::string>& out) {
  if (theirs == nullptr) {
    out.emplace_back(
        "XProf does not show this memory ID: its events are in planes or encodings that XProf does not read.");
    return;
  }
  uint64_t counted = 0;
  for (const ProfileSnapshot& snapshot : theirs->sampled) counted += xprof_view.IsAllocation(snapshot.row) ? 1 : 0;
  if (counted != ours.allocation_count || theirs->sampled.size() != ours.event_count) {
    out.push_back(
        fmt::format("XProf counts {} of {} allocations and {} of {} frees: it counts in at most 1,000 sampled points, "
                    "of the first host plane.",
                    FormatCount(counted), FormatCount(ours.allocation_count),
                    FormatCount(theirs->sampled.size() - counted), FormatCount(ours.free_count)));
  }
  if (theirs->lifetime_peak_bytes != ours.lifetime_peak_bytes) {
    out.push_back(fmt::format(
        "XProf's lifetime peak is {}, the true one {}: it takes the last event of the file instead of the highest.",
        FormatBytes(theirs->lifetime_peak_bytes), FormatBytes(ours.lifetime_peak_bytes)));
  }
  if (theirs->peak_used_bytes != ours.peak_used_bytes) {
    out.push_back(fmt::format("XProf's peak is {}, the true one {}: events are missing in what it reads.",
                              FormatBytes(theirs->peak_used_bytes), FormatBytes(ours.peak_used_bytes)));
  }
  if (theirs->peak_time_ps != ours.peak_time_ps) {
    const bool is_tie = theirs->peak_row != ours.peak_row && ours.tied_count > 0;
    out.push_back(
        fmt::format("XProf puts the peak at {:.3f} ms, it is at {:.3f} ms: it leaves out when each thread's "
                    "line starts{}.",
                    static_cast<double>(theirs->peak_time_ps) * 1e-9, static_cast<double>(ours.peak_time_ps) * 1e-9,
                    is_tie ? ", and takes the last of equal peaks" : ""));
  }
  for (const ProfileRemainder& rest : theirs->remainders) {
    if (rest.name == kStackName) continue;
    out.push_back(fmt::format(
        "XProf shows {} as \"{}\": it lists only allocations of the step of the peak. That memory is in use.",
        FormatBytes(rest.bytes), rest.name));
  }
}

const ProfileAllocator* Find(const Profile& profile, std::string_view id) {
  const auto found = std::find_if(profile.allocators.begin(), profile.allocators.end(),
                                  [&](const ProfileAllocator& a) { return a.id == id; });
  return found == profile.allocators.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> KnownText(std::string_view text) {
  if (text.empty() || text == "(null)") return std::nullopt;
  return std::string(text);
}

std::vector<ProfileHolder> ProfileHolders(const Store& store, const Heap& heap, Moment at, size_t top_count) {
  const ProfileView view(store, false);
  ProfileAllocator allocator;
  BreakDown(store, heap, store.EventRow(heap, at.seq()), allocator);
  std::vector<ProfileHolder> holders;
  holders.reserve(allocator.rows.size());
  for (const ProfileRow& row : allocator.rows) holders.push_back(HolderOf(view, allocator, row));
  std::stable_sort(holders.begin(), holders.end(),
                   [](const ProfileHolder& a, const ProfileHolder& b) { return a.bytes > b.bytes; });
  if (holders.size() <= top_count) return holders;
  ProfileHolder other{.category = "other", .is_other = true};
  // What is missing from the recording counts against all of them, and keeps its name.
  const auto missing = std::find_if(holders.begin() + static_cast<ptrdiff_t>(top_count), holders.end(),
                                    [](const ProfileHolder& holder) { return holder.bytes < 0; });
  std::vector<ProfileHolder> negative(missing, holders.end());
  holders.erase(missing, holders.end());
  for (size_t i = top_count; i < holders.size(); ++i) {
    other.bytes = static_cast<int64_t>(static_cast<uint64_t>(other.bytes) + static_cast<uint64_t>(holders[i].bytes));
    other.block_count += holders[i].block_count;
  }
  holders.resize(std::min(top_count, holders.size()));
  if (other.block_count > 0 || other.bytes > 0) holders.push_back(std::move(other));
  std::move(negative.begin(), negative.end(), std::back_inserter(holders));
  return holders;
}

ProfileSummary SummarizeProfile(const Store& store, uint32_t heap_row, const Profile& xprof) {
  const Heap& heap = store.heaps[heap_row];
  const ProfileView view(store, false);
  const ProfileAllocator allocator = CorrectAllocator(store, heap_row);
  const uint32_t peak = allocator.peak_row;
  ProfileSummary summary;
  summary.peak_seq = peak - heap.events.begin;
  const int64_t time_ns = store.EventTime(heap, summary.peak_seq);
  if (time_ns != kNoTime) summary.peak_time_ns = time_ns;
  summary.used_bytes = allocator.peak_used_bytes;
  summary.stack_bytes = view.StackBytes(peak);
  summary.heap_bytes = view.HeapBytes(peak);
  summary.fragmentation = view.Fragmentation(peak);
  if (view.Step(peak) != kNoStep) summary.step = view.Step(peak);
  summary.tied_count = allocator.tied_count;
  summary.lifetime_peak_bytes = allocator.lifetime_peak_bytes;
  if (store.xplane.events.free_bytes[peak] != kUnknownBytes) {
    summary.free_bytes = view.FreeBytes(peak);
    summary.capacity_bytes = summary.used_bytes + *summary.free_bytes;
    if (*summary.capacity_bytes > 0)
      summary.utilization = static_cast<double>(summary.used_bytes) / static_cast<double>(*summary.capacity_bytes);
    const double share = std::clamp(1 - summary.fragmentation, 0.0, 1.0);
    summary.largest_request_bytes = static_cast<uint64_t>(std::floor(share * static_cast<double>(*summary.free_bytes)));
  }
  summary.programs = UseByProgram(FindProgramRuns(store, heap));
  AddHelp(store, heap, peak, summary);
  AddNotes(store, heap, allocator, summary);
  AddHoleNote(summary);
  AddDifferences(allocator, Find(xprof, allocator.id), ProfileView(store, true), summary.xprof_differences);
  return summary;
}

}  // namespace memstrata
