#include "ledger/process_lines.h"

#include <algorithm>
#include <array>

#include "index/heap_state.h"

namespace memstrata::ledger {
namespace {

using measure::FrameworkProcess;

constexpr size_t kCategoryCount = std::size(kCategoryNames);
using BytesByCategory = std::array<uint64_t, kCategoryCount>;

// "rank0" of "…/torch/rank0.pickle".
std::string LabelOf(const Store& store, const Heap& heap) {
  const std::string& file = store.sources[heap.source].file;
  const size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

HeapEntry* FindHeap(SessionIndex* recording, const std::string& label, HeapKind kind, uint32_t device) {
  if (recording == nullptr) return nullptr;
  for (const auto& entry : recording->heaps()) {
    const Heap& heap = entry->heap;
    const bool is_there = heap.kind == HeapKind::kHost || heap.device == device;
    if (heap.kind == kind && is_there && LabelOf(recording->store(), heap) == label) return entry.get();
  }
  return nullptr;
}

// How many events had happened; nothing where the recording ends before, and its process went on.
std::optional<Moment> MomentAt(HeapEntry& entry, int64_t time_ns, bool reaches_end) {
  const TimeAxis& axis = entry.heap_index.Time();
  if (!axis.has_time()) return std::nullopt;
  const uint32_t count = axis.FirstAtOrAfter(static_cast<double>(time_ns - axis.begin_ns()) + 1);
  if (count == entry.heap.events.size() && !reaches_end) return std::nullopt;
  return Moment{count};
}

void AddTensors(const BytesByCategory& bytes, const std::string& process, std::vector<Line>& lines) {
  for (size_t category = 0; category < kCategoryCount; ++category) {
    if (bytes[category] > 0)
      lines.push_back(
          {Term::kTensors, process, std::string(kCategoryNames[category]), static_cast<int64_t>(bytes[category]), {}});
  }
}

ProcessLines FromState(HeapEntry& entry, SessionIndex& recording, const std::string& process, Moment at) {
  const HeapState state = StateAt(recording.store(), entry.heap, at);
  const std::vector<Category>& categories = recording.CategoryOfRow();
  const AllocationTable& table = recording.store().allocations;
  BytesByCategory tensors = {};
  for (const StateBlock& block : state.blocks)
    tensors[static_cast<size_t>(categories[block.allocation])] += table.size_bytes[block.allocation];
  ProcessLines result;
  AddTensors(tensors, process, result.lines);
  const uint64_t in_private_bytes = state.kind_bytes[static_cast<size_t>(HoleKind::kPrivatePool)];
  const auto add = [&](Term term, uint64_t bytes) {
    result.lines.push_back({term, process, {}, static_cast<int64_t>(bytes), {}});
  };
  add(Term::kRounding, state.rounding_bytes);
  add(Term::kIdle, state.idle_bytes - in_private_bytes);
  add(Term::kPrivatePools, in_private_bytes);
  uint64_t reserved_bytes = 0;
  for (const StateSegment& segment : state.segments) reserved_bytes += segment.size_bytes;
  result.reserved_bytes = reserved_bytes;
  result.is_approximate = state.is_approximate;
  return result;
}

ProcessLines FromCounters(const measure::AllocatorSample& sample, const std::string& process) {
  ProcessLines result;
  const char* note = "From the allocator's counters: the recording does not reach this moment, or there is none.";
  result.lines.push_back({Term::kTensors, process, "unknown", static_cast<int64_t>(sample.allocated_bytes), note});
  result.lines.push_back(
      {Term::kIdle, process, {}, static_cast<int64_t>(sample.reserved_bytes - sample.allocated_bytes), note});
  result.reserved_bytes = sample.reserved_bytes;
  return result;
}

}  // namespace

ProcessLines LinesOnDevice(const FrameworkProcess& process, uint32_t framework_device, SessionIndex* recording,
                           int64_t time_ns, bool is_there) {
  std::optional<measure::AllocatorSample> sample = AllocatorAt(process, framework_device, time_ns);
  if (!sample && is_there) sample = LastAnswer(process, framework_device, time_ns);
  // The recording may begin before the first answer, but not go on after the last.
  const bool answers_later = !process.samples.empty() && time_ns <= process.samples.back().time_ns;
  if (!sample && !answers_later) return {};
  HeapEntry* entry = FindHeap(recording, process.label, HeapKind::kDevice, framework_device);
  if (entry != nullptr && entry->heap.capabilities.has_segments) {
    const std::optional<Moment> at = MomentAt(*entry, time_ns, process.complete);
    if (at && (sample || at->seq() > 0)) return FromState(*entry, *recording, process.label, *at);
  }
  return sample ? FromCounters(*sample, process.label) : ProcessLines{};
}

ProcessLines LinesOnHost(const FrameworkProcess& process, SessionIndex* recording, int64_t time_ns) {
  HeapEntry* entry = FindHeap(recording, process.label, HeapKind::kHost, 0);
  if (entry == nullptr) return {};
  const std::optional<Moment> at = MomentAt(*entry, time_ns, process.complete);
  if (!at) return {};
  const AllocationTable& table = recording->store().allocations;
  const std::vector<Category>& categories = recording->CategoryOfRow();
  BytesByCategory tensors = {};
  uint64_t total_bytes = 0;
  for (uint32_t row = entry->heap.allocations.begin; row < entry->heap.allocations.end; ++row) {
    if (!IsLive(table, row, *at)) continue;
    tensors[static_cast<size_t>(categories[row])] += table.size_bytes[row];
    total_bytes += table.size_bytes[row];
  }
  ProcessLines result;
  AddTensors(tensors, process.label, result.lines);
  result.reserved_bytes = total_bytes;
  return result;
}

}  // namespace memstrata::ledger
