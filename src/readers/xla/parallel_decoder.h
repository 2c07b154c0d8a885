#pragma once
// Decodes the lines of host planes on two threads. Each takes the next batch of events, decodes it into columns of its
// own, and appends these to the common columns when its turn has come: the result does not depend on which thread took
// which batch. A batch stays in the cache between the two.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "readers/xla/loading_walk.h"
#include "readers/xla/memory_events.h"

namespace memstrata::xla {

/// A line of a plane, ready to be decoded.
struct LineToDecode {
  std::string_view bytes;
  int64_t begin_ps = 0;  // its start from the profiler's time zero
  uint32_t line = 0;     // → XPlaneTable::lines
};

class ParallelDecoder {
 public:
  /// `bytes`, `strings` and `into` must outlive the decoder.
  ParallelDecoder(ScratchBytes& bytes, StringPool& strings, DecodedEvents& into);
  ~ParallelDecoder();
  ParallelDecoder(const ParallelDecoder&) = delete;
  ParallelDecoder& operator=(const ParallelDecoder&) = delete;

  /// Steps of events that carry none themselves; must outlive the decoder.
  void set_steps(const StepGroups& steps);
  /// Decodes the lines of a plane in order, and gives their bytes back. Cost: O(bytes).
  void DecodePlane(const Plane& plane, std::span<const LineToDecode> lines);
  DecodeCounts counts() const;

 private:
  struct Worker;
  struct Batch;

  void Work(Worker& worker);
  void DecodeBatches(Worker& worker);
  bool Take(Batch& batch);
  void Commit(Worker& worker, const Batch& batch);
  void MapNames(Worker& worker);

  ScratchBytes& bytes_;
  StringPool& strings_;
  DecodedEvents& into_;
  std::vector<std::unique_ptr<Worker>> workers_;
  FlatMap<uint32_t, uint32_t> memory_id_rows_;  // name → row of into_.memory_ids
  DecodeCounts walk_counts_;                    // what is wrong with lines rather than events
  bool has_xprof_steps_ = false;

  // Of the plane at hand, guarded by mutex_:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::span<const LineToDecode> lines_;
  size_t committed_line_ = SIZE_MAX;  // → lines_
  size_t released_bytes_ = 0;         // of that line
  size_t next_line_ = 0;
  std::optional<LoadingWalk> walk_;
  uint64_t next_ticket_ = 0;  // of the next batch that is taken
  uint64_t next_to_commit_ = 0;
  bool has_failed_ = false;  // a thread ran into an exception; the other one must not wait for it
};

}  // namespace memstrata::xla
