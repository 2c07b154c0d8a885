#pragma once
// The figures of a recording that `memstrata gate` compares, and the recordings of one program that are compared.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accept/baseline.h"
#include "base/result.h"
#include "measure/session.h"
#include "model/store/store.h"

namespace memstrata::accept {

struct HeapFigures {
  std::string id;
  std::vector<std::pair<std::string, uint64_t>> values_bytes;  // by name, in the order of the names' list
  bool is_lower_bound = false;
  std::string lower_bound_reason;

  std::optional<uint64_t> ValueBytes(std::string_view name) const;
};

/// Whether it is a figure of MeasuredFigures().
bool IsSampledFigure(std::string_view name);

struct RunFigures {
  std::string file;
  std::vector<HeapFigures> heaps;
};

/// peak_live, peak_reserved (where segments are recorded), and steady_peak_live: the highest live peak of the complete
/// steps after the first, which leaves out what only a cold start takes. errors: those of Summarize
/// cost: O(events + allocations log allocations)
Result<RunFigures> FiguresOf(const Store& store);

/// What a measured run says beside its recordings: "host" with peak_resident, and each device that the run used, and
/// nobody else, with peak_used. Whether a figure was measured whole may change from run to run of the same program, as
/// a sample meets its peak or not: a lower bound is not kept in a baseline, and fails only when it is above the limit.
std::vector<HeapFigures> MeasuredFigures(const measure::MeasuredSession& session);

/// Recordings of one program, read one after another. Of them all only the highest stays in memory, to tell who is to
/// blame.
class GateRuns {
 public:
  /// Takes folders out of the recording, so that machines with other folders compare. `measured`: see above; `name` is
  /// that of a run without a recording.
  Status Add(Store store, std::vector<HeapFigures> measured, const std::string& name);

  const std::vector<RunFigures>& runs() const { return runs_; }
  /// That with the largest sum of live peaks; empty before the first Add.
  const Store* highest() const { return highest_.get(); }
  const RunFigures& highest_figures() const { return runs_[highest_index_]; }
  /// A frame's file as recorded, with its folder: of the highest recording.
  const std::string& OriginalFile(FrameId frame) const { return original_files_[frame.value]; }

 private:
  std::vector<RunFigures> runs_;
  std::unique_ptr<Store> highest_;
  std::vector<std::string> original_files_;  // [frame]
  size_t highest_index_ = 0;
  uint64_t highest_bytes_ = 0;
};

/// The baseline that these runs are. `tolerance` as the user gave it, or empty.
Baseline BaselineOf(const GateRuns& runs, const std::string& tolerance);

}  // namespace memstrata::accept
