#include "readers/torch_snapshot/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/ingest/allocation_tracker.h"
#include "model/ingest/segment_tracker.h"
#include "readers/torch_snapshot/annotations.h"

namespace memstrata::torch_snapshot {
namespace {

/// One heap to build: a device's trace and its segments.
struct Plan {
  uint32_t device = 0;
  HeapKind kind = HeapKind::kDevice;
  const RecordList* trace = nullptr;  // null: no trace, or an empty one
  std::vector<uint32_t> segments;     // rows of Records::segments
  bool final_known = false;           // the segments belong to the moment after the last event
};

std::string HeapName(const Plan& plan, const CaptureBlock& capture) {
  return fmt::format("{}:{}", plan.kind == HeapKind::kHost ? capture.host_type : capture.device_type, plan.device);
}

std::string_view AllocatorName(const Plan& plan, const CaptureBlock& capture) {
  if (plan.kind == HeapKind::kDevice) return "torch_caching";
  return capture.host_type == "cpu" ? "torch_cpu" : "torch_pinned_host";
}

class Assembler {
 public:
  Assembler(StoreBuilder& builder, Decoder& decoder, const SnapshotRoot& root)
      : builder_(builder), store_(builder.store()), decoder_(decoder), records_(decoder.records()), root_(root) {}

  Status Run() {
    store_.sources.back().metadata = root_.settings;
    for (const auto& [key, text] : root_.settings) {
      if (key == "roundup_power2_divisions") rounding_ = BlockRounding::FromText(text);
    }
    std::vector<Plan> plans = MakePlans(HeapKind::kDevice, root_.segments, root_.device_traces);
    const std::vector<Plan> host = MakePlans(HeapKind::kHost, root_.host_segments, root_.host_traces);
    plans.insert(plans.end(), host.begin(), host.end());
    MarkTruncated(plans);
    MEMSTRATA_TRY(MoveEvents(plans));
    for (size_t i = 0; i < plans.size(); ++i) MEMSTRATA_TRY(BuildHeap(plans[i], event_ranges_[i]));
    if (root_.annotations != kNone) AddAnnotations(builder_, records_, records_.lists[root_.annotations]);
    SayWhatIsMissing(plans);
    return {};
  }

 private:
  std::vector<Plan> MakePlans(HeapKind kind, uint32_t segment_list, const std::vector<uint32_t>& traces) {
    std::map<uint32_t, Plan> plans;
    const auto plan_of = [&](uint32_t device) -> Plan& {
      Plan& plan = plans[device];
      plan.device = device;
      plan.kind = kind;
      return plan;
    };
    for (uint32_t device = 0; device < traces.size(); ++device) {
      if (traces[device] == kNone) continue;
      plan_of(device).trace = &records_.lists[traces[device]];
    }
    if (segment_list != kNone) {
      for (const RowRange& range : records_.lists[segment_list].ranges) {
        for (uint32_t row = range.begin; row < range.end; ++row)
          plan_of(records_.segments[row].device).segments.push_back(row);
      }
    }
    const bool has_segments =
        segment_list != kNone || (kind == HeapKind::kDevice && (root_.is_list || root_.has_device_traces));
    std::vector<Plan> result;
    for (auto& [device, plan] : plans) {
      plan.final_known = has_segments;
      result.push_back(std::move(plan));
    }
    return result;
  }

  // The last trace that has events is the one that was cut off: the final state does not belong to its last event.
  void MarkTruncated(std::vector<Plan>& plans) const {
    if (!decoder_.trace_is_cut()) return;
    for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
      if (plan->trace == nullptr) continue;
      plan->final_known = false;
      return;
    }
  }

  // Brings the events into heap order. A file whose traces were written one after the other is in that order already:
  // then the columns move as they are.
  Status MoveEvents(const std::vector<Plan>& plans) {
    const auto base = static_cast<uint32_t>(store_.events.size());
    uint64_t total = base;
    bool in_order = base == 0;
    uint32_t next = 0;
    for (const Plan& plan : plans) {
      RowRange range{static_cast<uint32_t>(total), 0};
      if (plan.trace != nullptr) {
        total += plan.trace->RowCount();
        for (const RowRange& rows : plan.trace->ranges) {
          in_order &= rows.begin == next;
          next = rows.end;
        }
      }
      if (total >= kNone) return Fail(ErrorCode::kLimitExceeded, "The traces have more than 4,294,967,294 events.");
      range.end = static_cast<uint32_t>(total);
      event_ranges_.push_back(range);
    }
    EventTable& from = records_.events;
    if (!decoder_.has_time()) from.time_ns = {};
    for (Column<uint32_t>* column : {&from.context, &from.pool}) {
      if (!column->empty()) column->Resize(from.size(), kNone);
    }
    if (in_order && next == from.size()) {
      store_.events = std::move(from);
      return {};
    }
    constexpr uint64_t kEventBytes = 41;
    if ((total - base) * kEventBytes > decoder_.memory_limit_bytes()) {
      return Fail(ErrorCode::kLimitExceeded, "The traces need more memory than the limit allows.");
    }
    for (const Plan& plan : plans) {
      if (plan.trace == nullptr) continue;
      for (const RowRange& rows : plan.trace->ranges) CopyEvents(from, rows);
    }
    return {};
  }

  void CopyEvents(const EventTable& from, RowRange rows) {
    EventTable& to = store_.events;
    const auto before = to.size();
    const auto copy = [&](auto& target, const auto& source, auto fill) {
      if (source.empty() && target.empty()) return;
      target.Resize(before, fill);
      if (source.empty()) {
        target.Resize(before + rows.size(), fill);
      } else {
        target.Append(source.span().subspan(rows.begin, rows.size()));
      }
    };
    copy(to.time_ns, from.time_ns, kNoTime);
    copy(to.context, from.context, kNone);
    copy(to.pool, from.pool, kNone);
    to.addr.Append(from.addr.span().subspan(rows.begin, rows.size()));
    to.size_bytes.Append(from.size_bytes.span().subspan(rows.begin, rows.size()));
    to.stream.Append(from.stream.span().subspan(rows.begin, rows.size()));
    to.stack.Append(from.stack.span().subspan(rows.begin, rows.size()));
    to.kind.Append(from.kind.span().subspan(rows.begin, rows.size()));
  }

  Status BuildHeap(const Plan& plan, RowRange events) {
    Heap heap;
    heap.id = HeapName(plan, root_.capture);
    heap.allocator = AllocatorName(plan, root_.capture);
    heap.kind = plan.kind;
    heap.device = plan.device;
    heap.source = builder_.current_source();
    heap.events = events;
    std::vector<FinalBlock> final_blocks = AddFinalState(plan, heap);
    SegmentTracker(builder_, heap).Run(plan.final_known);
    AllocationTracker tracker(builder_, heap, &rounding_);
    MEMSTRATA_ASSIGN_OR_RETURN(const PairingResult pairing, tracker.Run(plan.final_known ? &final_blocks : nullptr));
    SetPools(heap, plan);
    AddSamples(heap, plan);
    Judge(heap, plan, pairing);
    store_.heaps.push_back(std::move(heap));
    return {};
  }

  std::vector<FinalBlock> AddFinalState(const Plan& plan, Heap& heap) {
    FinalSegmentTable& finals = store_.final_segments;
    heap.final_segments.begin = static_cast<uint32_t>(finals.size());
    heap.blocks.begin = static_cast<uint32_t>(store_.blocks.size());
    std::vector<FinalBlock> active;
    std::vector<uint32_t> by_address = plan.segments;
    const auto lower = [&](uint32_t a, uint32_t b) { return records_.segments[a].addr < records_.segments[b].addr; };
    if (!std::is_sorted(by_address.begin(), by_address.end(), lower))
      std::stable_sort(by_address.begin(), by_address.end(), lower);
    uint64_t previous_end = 0;
    for (const uint32_t row : by_address) {
      const RawSegment& segment = records_.segments[row];
      if (segment.addr < previous_end) {
        builder_.diagnostics().Note(Severity::kWarning, "segments_overlap",
                                    "Segments of the final state overlap; they are read as they stand.");
      }
      previous_end = segment.addr + segment.size_bytes;
      AddSegment(segment, active);
    }
    heap.final_segments.end = static_cast<uint32_t>(finals.size());
    heap.blocks.end = static_cast<uint32_t>(store_.blocks.size());
    return active;
  }

  void AddSegment(const RawSegment& segment, std::vector<FinalBlock>& active) {
    FinalSegmentTable& finals = store_.final_segments;
    const auto segment_row = static_cast<uint32_t>(finals.size());
    const uint32_t stream = builder_.InternStream(segment.stream);
    const uint32_t pool = segment.has_pool ? builder_.InternPool(segment.pool) : kNone;
    const auto first_block = static_cast<uint32_t>(store_.blocks.size());
    uint64_t addr = segment.addr;
    bool tiles = true;
    if (segment.block_list != kNone) {
      for (const RowRange& range : records_.lists[segment.block_list].ranges) {
        for (uint32_t row = range.begin; row < range.end; ++row) {
          const RawBlock& block = records_.blocks[row];
          tiles &= block.addr == kUnknownBytes || block.addr == addr;
          const uint64_t block_addr = block.addr == kUnknownBytes ? addr : block.addr;
          AddBlock(block, block_addr, segment_row);
          if (block.state == BlockState::kActive || block.state == BlockState::kPendingFree) {
            const uint64_t requested =
                block.requested_bytes == kUnknownBytes ? block.size_bytes : block.requested_bytes;
            active.push_back({block_addr, requested, block.size_bytes, stream, pool, block.stack,
                              static_cast<uint32_t>(store_.blocks.size()) - 1});
          }
          addr += block.size_bytes;
        }
      }
    }
    if (!tiles || addr != segment.addr + segment.size_bytes) {
      builder_.diagnostics().Note(Severity::kWarning, "blocks_do_not_tile",
                                  "Segments of the final state are not filled exactly by their blocks.");
    }
    finals.addr.PushBack(segment.addr);
    finals.size_bytes.PushBack(segment.size_bytes);
    finals.kind.PushBack(segment.kind);
    finals.stream.PushBack(stream);
    finals.pool.PushBack(pool);
    finals.stack.PushBack(segment.stack);
    finals.block_begin.PushBack(first_block);
    finals.block_end.PushBack(static_cast<uint32_t>(store_.blocks.size()));
  }

  void AddBlock(const RawBlock& block, uint64_t addr, uint32_t segment_row) {
    const bool in_use = block.state == BlockState::kActive || block.state == BlockState::kPendingFree;
    BlockTable& table = store_.blocks;
    table.addr.PushBack(addr);
    table.size_bytes.PushBack(block.size_bytes);
    table.requested_bytes.PushBack(in_use ? block.requested_bytes : kUnknownBytes);
    table.state.PushBack(block.state);
    table.segment.PushBack(segment_row);
    table.allocation.PushBack(kNone);
    table.stack.PushBack(block.stack);
  }

  // Before 2.12 events carry no pool. Where the file has no private pool at all, everything is in the default one;
  // otherwise the segment at the block's address says it, as long as that segment still exists.
  void SetPools(const Heap& heap, const Plan& plan) {
    const FinalSegmentTable& finals = store_.final_segments;
    const bool any_pool_known = std::any_of(plan.segments.begin(), plan.segments.end(),
                                            [&](uint32_t row) { return records_.segments[row].has_pool; });
    if (!any_pool_known) return;
    const bool any_private = std::any_of(plan.segments.begin(), plan.segments.end(),
                                         [&](uint32_t row) { return records_.segments[row].pool.is_private(); });
    const uint32_t default_pool = builder_.InternPool({});
    const auto begin = finals.addr.span().begin();
    for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
      uint32_t& pool = store_.allocations.pool[row];
      if (pool != kNone) continue;
      if (!any_private) {
        pool = default_pool;
        continue;
      }
      const uint64_t addr = store_.allocations.addr[row];
      const auto after = std::upper_bound(begin + heap.final_segments.begin, begin + heap.final_segments.end, addr);
      if (after == begin + heap.final_segments.begin) continue;
      const auto segment = static_cast<uint32_t>(after - begin) - 1;
      if (addr - finals.addr[segment] < finals.size_bytes[segment]) pool = finals.pool[segment];
    }
  }

  void AddSamples(Heap& heap, const Plan& plan) const {
    if (plan.kind != HeapKind::kDevice) return;
    for (const auto& [device, sample] : root_.capture.samples) {
      if (device == plan.device) heap.device_samples.push_back(sample);
    }
    std::stable_sort(heap.device_samples.begin(), heap.device_samples.end(),
                     [](const DeviceSample& a, const DeviceSample& b) { return a.time_ns < b.time_ns; });
    if (!heap.device_samples.empty()) heap.capacity_bytes = heap.device_samples.back().total_bytes;
  }

  void Judge(Heap& heap, const Plan& plan, const PairingResult& pairing) {
    Capabilities& can = heap.capabilities;
    can.has_events = heap.events.size() > 0;
    can.has_time = decoder_.has_time() && can.has_events;
    can.has_stacks = decoder_.has_stacks();
    can.has_segments = plan.final_known;
    can.has_block_bytes = plan.kind == HeapKind::kDevice;
    const auto for_device = [&](const auto& values) { return values.size() == 1 ? 0U : plan.device; };
    const bool overflowed = plan.kind == HeapKind::kDevice && for_device(root_.overflowed) < root_.overflowed.size() &&
                            root_.overflowed[for_device(root_.overflowed)];
    const bool buffer_full = plan.kind == HeapKind::kDevice &&
                             for_device(root_.max_entries) < root_.max_entries.size() &&
                             root_.max_entries[for_device(root_.max_entries)] == heap.events.size() && can.has_events;
    const bool events_lost =
        overflowed || (buffer_full && pairing.preexisting_count > 0) || pairing.preexisting_with_stack_count > 0;
    if (!can.has_events) {
      heap.lower_bound = LowerBoundReason::kNoEvents;
    } else if (decoder_.trace_is_cut() && !plan.final_known) {
      heap.lower_bound = LowerBoundReason::kTruncated;
    } else if (events_lost) {
      heap.lower_bound = LowerBoundReason::kRingOverflow;
      builder_.diagnostics().Note(
          Severity::kDataLoss, "oldest_events_missing",
          fmt::format("On {}, the oldest events are missing: the recorder's buffer was full and overwrote them{}.",
                      heap.id,
                      pairing.preexisting_with_stack_count > 0
                          ? fmt::format(" (at least {} allocations that were recorded have no event)",
                                        pairing.preexisting_with_stack_count)
                          : ""),
          kUnknownBytes, std::max<uint64_t>(1, pairing.preexisting_with_stack_count));
    } else if (pairing.preexisting_count > 0 || heap.reserved_begin_bytes > 0) {
      heap.lower_bound = LowerBoundReason::kLateStart;
    }
    can.complete_history = heap.lower_bound == LowerBoundReason::kExact;
    const bool is_of_cpu = plan.kind == HeapKind::kHost && root_.capture.host_type == "cpu";
    if (can.complete_history && is_of_cpu && HasUnseenThreads()) heap.lower_bound = LowerBoundReason::kUnseenThreads;
  }

  // PyTorch's profiler, which records the tensors of the CPU, sees those of its own thread alone.
  bool HasUnseenThreads() const {
    return std::any_of(root_.settings.begin(), root_.settings.end(),
                       [](const auto& setting) { return setting.first == kUnseenThreadsKey; });
  }

  void SayWhatIsMissing(const std::vector<Plan>& plans) {
    const bool any_events =
        std::any_of(plans.begin(), plans.end(), [](const Plan& plan) { return plan.trace != nullptr; });
    if (!any_events) SayWhyThereAreNoEvents();
    if (any_events && !decoder_.has_time()) {
      builder_.AddMissing(
          "time",
          "The trace entries carry no times: they were written by a PyTorch before 2.2, or times were stripped.",
          "Record with PyTorch 2.2 or newer.");
    }
    if (!decoder_.has_stacks() && !plans.empty()) {
      builder_.AddMissing("stacks", "No event or block carries a call stack: it was recorded without context.",
                          root_.capture.is_present
                              ? "Capture with mode=\"python\" or \"full\"."
                              : "Call torch.cuda.memory._record_memory_history(context=\"all\", stacks=\"python\").");
    }
    const bool all_sampled = std::all_of(plans.begin(), plans.end(), [&](const Plan& plan) {
      return plan.kind == HeapKind::kHost ||
             std::any_of(root_.capture.samples.begin(), root_.capture.samples.end(),
                         [&](const auto& sample) { return sample.first == plan.device; });
    });
    if (all_sampled && !root_.capture.samples.empty()) return;
    SayWhatTheDeviceWasNotAsked();
  }

  void SayWhyThereAreNoEvents() {
    if (root_.capture.is_present) {
      builder_.AddMissing("events", "No memory was allocated or given back while the capture ran.",
                          "Capture a part of the program that makes tensors.");
      return;
    }
    builder_.AddMissing(
        "events",
        root_.is_list || !root_.has_device_traces
            ? "The file holds the allocator's segments only: the state at one moment, without a history."
            : "The file has no trace entry for any device: recording was not on, or the process did not use the "
              "device.",
        "Call torch.cuda.memory._record_memory_history() before the work, then "
        "torch.cuda.memory._dump_snapshot(file).");
  }

  void SayWhatTheDeviceWasNotAsked() {
    if (root_.capture.host_type == "cpu") {
      builder_.AddMissing(
          "capacity",
          "PyTorch sets the tensors of the CPU no limit; what the machine has left depends on what else "
          "runs on it.",
          "`memstrata run -- COMMAND` measures the host memory of the whole program beside them.");
      return;
    }
    const std::string record = root_.capture.is_present ? "Capture while the program holds memory on the device"
                                                        : "Record with memstrata.profile, which asks the device";
    builder_.AddMissing("capacity", "A PyTorch snapshot does not say how large the device is.",
                        record + ", or note torch.cuda.mem_get_info() beside the snapshot.");
    builder_.AddMissing("memory outside the allocator",
                        "A PyTorch snapshot holds only what PyTorch's own allocator handed out: not the CUDA context, "
                        "NCCL, or other libraries and processes.",
                        record + ", or compare nvidia-smi with the reserved bytes.");
  }

  StoreBuilder& builder_;
  Store& store_;
  Decoder& decoder_;
  Records& records_;
  const SnapshotRoot& root_;
  BlockRounding rounding_;
  std::vector<RowRange> event_ranges_;
};

}  // namespace

Status Assemble(StoreBuilder& builder, Decoder& decoder, const SnapshotRoot& root) {
  return Assembler(builder, decoder, root).Run();
}

}  // namespace memstrata::torch_snapshot
