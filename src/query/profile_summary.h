#pragma once
// What `summary` says besides of a heap of an XPlane profile: the peak of stack + heap, the breakdown with operations
// and shapes, what these numbers mean, and where XProf would have said something else.

#include <optional>
#include <string>
#include <vector>

#include "analysis/memory_profile/pressure.h"
#include "analysis/memory_profile/profile.h"
#include "model/store/moment.h"
#include "model/store/store.h"
#include "query/program_use.h"

namespace memstrata {

struct ProfileHolder {
  int64_t bytes = 0;  // negative only for frees whose events are missing
  uint64_t block_count = 0;
  std::string_view category;  // "stack" or "unknown"
  std::string name;           // of a row that is no allocation of the trace
  std::optional<std::string> op;
  std::optional<uint64_t> requested_bytes;
  std::optional<std::string> region_type;
  std::optional<std::string> data_type;
  std::optional<std::string> shape;
  bool is_before_recording = false;
  bool is_other = false;
};

/// What would make room at the peak: for requests that did not fit, or nearly did not.
struct ProfileHelp {
  bool is_near_capacity = false;  // 80 % or more of the capacity is in use at the peak
  HeapPressure pressure;
  std::string_view program;  // that ran at the peak, with a plan; empty where none is known
  uint64_t program_padding_bytes = 0;
  uint64_t program_donation_bytes = 0;
  uint64_t program_temporary_bytes = 0;  // of its plan, live together
  std::vector<std::string> sentences;    // in bytes; empty unless near the capacity
};

struct ProfileSummary {
  uint32_t peak_seq = 0;
  std::optional<int64_t> peak_time_ns;
  uint64_t used_bytes = 0;
  uint64_t stack_bytes = 0;
  uint64_t heap_bytes = 0;
  std::optional<uint64_t> free_bytes;
  double fragmentation = 0;
  std::optional<int64_t> step;
  uint64_t tied_count = 0;
  uint64_t lifetime_peak_bytes = 0;
  std::optional<uint64_t> capacity_bytes;
  std::optional<double> utilization;
  std::optional<uint64_t> largest_request_bytes;  // free × (1 - fragmentation)
  ProfileHelp help;
  std::vector<ProgramUse> programs;            // that ran on the heap, the highest first
  std::vector<ProfileHolder> holders;          // filled in by the caller for the moment asked for
  std::vector<std::string> notes;              // what the numbers mean, in sentences
  std::vector<std::string> xprof_differences;  // where XProf shows something else, by how much and why
};

/// `xprof`: XProf's answer for the heap's source, to compare with. cost: O(n)
ProfileSummary SummarizeProfile(const Store& store, uint32_t heap, const Profile& xprof);
/// A name that says something; older JAX prints "(null)" where it has none.
std::optional<std::string> KnownText(std::string_view text);
/// The breakdown at a moment (not before the first event): at most `top_count` rows and one "other". cost: O(n)
std::vector<ProfileHolder> ProfileHolders(const Store& store, const Heap& heap, Moment at, size_t top_count);

}  // namespace memstrata
