#pragma once
// Plays the compiler's heap trace of a program: which buffers come and go in program order, how high memory gets, and
// what is live there.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/store/programs.h"

namespace memstrata {

/// When the memory of a buffer is in use, by itself or by buffers that share it: positions in the trace, both
/// inclusive.
struct BufferSpan {
  uint32_t buffer = kNone;  // → Program::buffers
  uint32_t begin = 0;
  uint32_t end = 0;        // when the last user of the memory is freed
  uint32_t xprof_end = 0;  // as XProf shows it: the free of the buffer itself where it took over freed memory
};

struct HeapSimulation {
  bool has_trace = false;
  uint32_t trace = 0;                // → Program::traces
  std::vector<uint64_t> heap_bytes;  // temporaries before each event, and after the last: events + 1 values
  std::vector<uint64_t> unpadded_bytes;
  std::vector<StringId> instructions;  // of each event; the last is empty
  uint64_t peak_bytes = 0;             // temporaries alone
  uint64_t peak_unpadded_bytes = 0;
  uint32_t peak_position = 0;          // the event that reaches the peak
  std::vector<uint32_t> peak_buffers;  // → Program::buffers, in the order in which they came
  std::vector<BufferSpan> spans;       // by buffer id
  uint64_t indefinite_bytes = 0;       // Σ allocations of the space that live for the whole run
};

/// Plays the trace of one memory space. A program without a trace for it gives has_trace = false.
/// errors: kCorruptInput when the trace contradicts itself (freed twice, buffers of several allocations, unknown event)
/// cost: O(events)
Result<HeapSimulation> SimulateHeap(const Program& program, int64_t space);

}  // namespace memstrata
