#include "analysis/program_memory/heap_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <optional>

#include "base/flat_map.h"

namespace memstrata {
namespace {

constexpr uint64_t kLargestSumBytes = uint64_t{1} << 62;

class Simulator {
 public:
  Simulator(const Program& program, int64_t space) : program_(program), space_(space) {
    for (uint32_t row = 0; row < program.buffers.size(); ++row)
      rows_[static_cast<uint64_t>(program.buffers[row].id)] = row;
    for (uint32_t row = 0; row < program.allocations.size(); ++row) {
      for (const ProgramAssignment& assigned : program.allocations[row].assigned) allocation_of_[assigned.buffer] = row;
    }
  }

  Result<HeapSimulation> Run() {
    for (const ProgramAllocation& allocation : program_.allocations) {
      if (allocation.space == space_ && allocation.is_indefinite()) result_.indefinite_bytes += allocation.size_bytes;
    }
    if (!ChooseTrace()) return std::move(result_);
    const ProgramHeapTrace& trace = program_.traces[result_.trace];
    for (const ProgramHeapEvent& event : trace.events) MEMSTRATA_TRY(Play(event));
    PushPoint(StringId{0});
    if (touched_allocations_ != 1) {
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("The heap trace of {} uses {} allocations; one trace describes one allocation.",
                              program_.label, touched_allocations_));
    }
    CollectSpans(static_cast<uint32_t>(trace.events.size()));
    return std::move(result_);
  }

 private:
  struct State {
    uint32_t row = kNone;
    uint32_t reference_count = 0;
    uint32_t begin = 0;
    uint32_t end = kNone;      // kNone: not freed
    uint32_t own_end = kNone;  // of the buffer itself
    std::list<uint64_t>::iterator live;
    bool was_allocated = false;
    bool took_over = false;  // began with the memory of a buffer that was freed
  };

  const uint32_t* AllocationOf(int64_t buffer_id) const {
    const auto row = rows_.find(static_cast<uint64_t>(buffer_id));
    if (row == rows_.end()) return nullptr;
    const auto found = allocation_of_.find(row->second);
    return found == allocation_of_.end() ? nullptr : &found->second;
  }

  // The trace of an allocation of temporaries of this space; else the one with the most events of the space.
  bool ChooseTrace() {
    size_t most = 0;
    for (uint32_t i = 0; i < program_.traces.size(); ++i) {
      const std::vector<ProgramHeapEvent>& events = program_.traces[i].events;
      if (events.empty()) continue;
      const uint32_t* allocation = AllocationOf(events.front().buffer_id);
      if (allocation != nullptr && program_.allocations[*allocation].space == space_ &&
          program_.allocations[*allocation].is_temporary()) {
        result_.trace = i;
        return result_.has_trace = true;
      }
      const auto of_space =
          static_cast<size_t>(std::count_if(events.begin(), events.end(), [&](const ProgramHeapEvent& event) {
            const auto row = rows_.find(static_cast<uint64_t>(event.buffer_id));
            return row != rows_.end() && program_.buffers[row->second].space == space_;
          }));
      if (of_space > most) {
        most = of_space;
        result_.trace = i;
      }
    }
    return result_.has_trace = most > 0;
  }

  void PushPoint(StringId instruction) {
    result_.heap_bytes.push_back(heap_bytes_);
    result_.unpadded_bytes.push_back(unpadded_bytes_);
    result_.instructions.push_back(instruction);
  }

  Status Play(const ProgramHeapEvent& event) {
    const auto row = rows_.find(static_cast<uint64_t>(event.buffer_id));
    if (row == rows_.end()) {
      return Fail(ErrorCode::kCorruptInput, fmt::format("The heap trace of {} names buffer {}, which is not described.",
                                                        program_.label, event.buffer_id));
    }
    NoteAllocation(row->second);
    PushPoint(event.instruction);
    switch (event.kind) {
      case ProgramHeapEvent::kAlloc:
        canonical_[static_cast<uint64_t>(event.buffer_id)] = static_cast<uint64_t>(event.buffer_id);
        return Use(static_cast<uint64_t>(event.buffer_id), row->second);
      case ProgramHeapEvent::kFree:
        return Release(event);
      case ProgramHeapEvent::kShare:
        return Share(event, row->second);
    }
    return Fail(ErrorCode::kCorruptInput, fmt::format("The heap trace of {} holds an event of unknown kind {}.",
                                                      program_.label, static_cast<int>(event.kind)));
  }

  Status Share(const ProgramHeapEvent& event, uint32_t row) {
    const std::optional<uint64_t> owner = OwnerOf(event.shared_with_id);
    if (!owner) {
      return Fail(
          ErrorCode::kCorruptInput,
          fmt::format("In the heap trace of {}, buffer {} shares memory with buffer {}, which was never allocated.",
                      program_.label, event.buffer_id, event.shared_with_id));
    }
    const auto id = static_cast<uint64_t>(event.buffer_id);
    if (states_.find(*owner)->second.reference_count > 0 || *owner == id) {
      if (*owner != id) canonical_[id] = *owner;
      return Use(*owner, row);
    }
    // Memory that nobody uses any more is taken over: from here on it is this buffer's.
    canonical_[id] = id;
    canonical_[*owner] = id;
    states_[id].took_over = true;
    return Use(id, row);
  }

  // The buffer whose memory `buffer_id` lies in, through all take-overs.
  std::optional<uint64_t> OwnerOf(int64_t buffer_id) {
    auto found = canonical_.find(static_cast<uint64_t>(buffer_id));
    if (found == canonical_.end()) return std::nullopt;
    while (found->second != found->first) {
      const auto next = canonical_.find(found->second);
      if (next->second != next->first) found->second = next->second;  // shortens the way for the next time
      found = next;
    }
    return found->first;
  }

  void NoteAllocation(uint32_t row) {
    const auto found = allocation_of_.find(row);
    if (found != allocation_of_.end() && touched_.try_emplace(found->second, true).second) ++touched_allocations_;
  }

  // One more user of the memory of buffer `id`; the first one makes it live.
  Status Use(uint64_t id, uint32_t user_row) {
    State& state = states_[id];
    if (state.reference_count++ > 0) return {};
    const auto position = static_cast<uint32_t>(result_.heap_bytes.size() - 1);
    if (!state.was_allocated) {
      state.row = user_row;
      state.begin = position;
      state.was_allocated = true;
    }
    state.end = kNone;
    live_.push_back(id);
    state.live = std::prev(live_.end());
    const ProgramBuffer& buffer = program_.buffers[state.row];
    heap_bytes_ += buffer.size_bytes;
    unpadded_bytes_ += buffer.unpadded_bytes;
    if (heap_bytes_ > kLargestSumBytes || unpadded_bytes_ > kLargestSumBytes) {
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("The buffers of {} add up to more than 2^62 bytes.", program_.label));
    }
    if (heap_bytes_ > result_.peak_bytes) {
      result_.peak_bytes = heap_bytes_;
      result_.peak_unpadded_bytes = unpadded_bytes_;
      result_.peak_position = position;
      result_.peak_buffers.clear();
      peak_event_ = position;
      peak_changed_ = true;
    }
    return {};
  }

  Status Release(const ProgramHeapEvent& event) {
    if (peak_changed_) KeepPeak();
    const std::optional<uint64_t> owner = OwnerOf(event.buffer_id);
    const auto found = owner ? states_.find(*owner) : states_.end();
    if (found == states_.end() || found->second.reference_count == 0) {
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("In the heap trace of {}, buffer {} is freed more often than it is allocated.",
                              program_.label, event.buffer_id));
    }
    State& state = found->second;
    const auto position = static_cast<uint32_t>(result_.heap_bytes.size() - 1);
    if (*owner == static_cast<uint64_t>(event.buffer_id)) state.own_end = position;
    if (--state.reference_count > 0) return {};
    const ProgramBuffer& buffer = program_.buffers[state.row];
    heap_bytes_ -= buffer.size_bytes;
    unpadded_bytes_ -= buffer.unpadded_bytes;
    live_.erase(state.live);
    state.end = position;
    return {};
  }

  // What is live now is what is live at the peak: nothing was freed since.
  void KeepPeak() {
    peak_changed_ = false;
    result_.peak_buffers.clear();
    for (const uint64_t id : live_) {
      const State& state = states_.find(id)->second;
      if (state.begin <= peak_event_) result_.peak_buffers.push_back(state.row);
    }
  }

  void CollectSpans(uint32_t event_count) {
    if (peak_changed_) KeepPeak();
    const auto known = [&](uint32_t end) { return end == kNone ? event_count - 1 : end; };
    for (const auto& [id, state] : states_)
      result_.spans.push_back(
          {state.row, state.begin, known(state.end), known(state.took_over ? state.own_end : state.end)});
    std::sort(result_.spans.begin(), result_.spans.end(), [&](const BufferSpan& a, const BufferSpan& b) {
      return program_.buffers[a.buffer].id < program_.buffers[b.buffer].id;
    });
  }

  const Program& program_;
  int64_t space_;
  FlatMap<uint64_t, uint32_t> rows_;           // buffer id → row
  FlatMap<uint32_t, uint32_t> allocation_of_;  // buffer row → allocation row
  FlatMap<uint64_t, uint64_t> canonical_;      // buffer id → id of the buffer that owns its memory
  FlatMap<uint64_t, State> states_;            // by owner
  FlatMap<uint32_t, bool> touched_;
  std::list<uint64_t> live_;  // owners, in the order in which they came
  HeapSimulation result_;
  uint64_t heap_bytes_ = 0;
  uint64_t unpadded_bytes_ = 0;
  uint32_t touched_allocations_ = 0;
  uint32_t peak_event_ = 0;
  bool peak_changed_ = false;
};

}  // namespace

Result<HeapSimulation> SimulateHeap(const Program& program, int64_t space) { return Simulator(program, space).Run(); }

}  // namespace memstrata
