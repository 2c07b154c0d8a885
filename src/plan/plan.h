#pragma once
// The budget: what each device of a job needs, line by line, and whether a card has it.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cards.h"
#include "plan/model/model_description.h"
#include "plan/profile.h"
#include "plan/workload.h"

namespace memstrata::plan {

enum class Basis : uint8_t { kComputed, kMeasured, kAssumed };
std::string_view Name(Basis basis);

/// One line of a budget: bytes at the moment of the device's peak.
struct Line {
  std::string term;  // weights, gradients, optimizer, activations, …
  uint64_t bytes = 0;
  uint64_t low_bytes = 0;
  uint64_t high_bytes = 0;
  Basis basis = Basis::kComputed;
  std::string how;             // the formula with its numbers
  std::string source;          // where the formula or the constant is from
  bool is_persistent = false;  // lives through the step; otherwise it comes and goes
  std::string changed_by;      // inputs that change it
};

/// Sizes of classes over their whole life, not at the peak.
struct StateBytes {
  uint64_t parameters = 0;
  uint64_t buffers = 0;
  uint64_t gradients = 0;
  uint64_t optimizer_state = 0;
  uint64_t activations_end_of_forward = 0;
  uint64_t kv_cache = 0;
  uint64_t optimizer_transient = 0;
};

struct DevicePlan {
  int64_t rank = 0;
  int64_t stage = 0;
  std::vector<Line> lines;
  uint64_t total_bytes = 0;  // of the device, with everything outside the framework
  uint64_t low_bytes = 0;
  uint64_t high_bytes = 0;
  uint64_t framework_peak_bytes = 0;  // what the framework's allocator reports as allocated
  uint64_t framework_peak_low_bytes = 0;
  uint64_t framework_peak_high_bytes = 0;
  std::string_view peak_spread;  // the constant that bounds it, empty where the lines' bounds add up
  uint64_t framework_reserved_bytes = 0;
  std::string peak_phase;
  std::map<std::string, uint64_t> phase_peaks;
  StateBytes states;
  uint64_t host_bytes = 0;              // offloaded to host memory by the process of this device
  std::optional<bool> simulation_fits;  // whether the allocator itself came through on the card
};

struct Diagnostic {
  std::string severity;
  std::string code;
  std::string text;
};

struct Target {
  Card card;
  uint64_t usable_bytes = 0;
  int64_t margin_bytes = 0;              // against the best figure
  int64_t margin_at_high_bytes = 0;      // against the high one
  std::vector<std::string> unsupported;  // formats that the card does not compute in
  bool runs_engine = true;
  bool can_join = true;  // as many of the card as the degrees use work together
};

struct Largest {
  std::optional<int64_t> batch;
  std::optional<int64_t> sequence;
  std::optional<int64_t> concurrency;
};

/// A way to spread the process over the devices that are there.
struct Strategy {
  std::string name;
  std::string parallel;  // as --parallel takes it
  std::string cost;
  std::optional<uint64_t> device_bytes;  // of its fullest device
  std::optional<bool> fits;
  std::string problem;  // why it cannot be
};

struct Plan {
  ModelDescription model;
  Workload workload;
  std::vector<DevicePlan> devices;  // one for each pipeline stage: all ranks of a stage are alike
  std::vector<Line> host_lines;
  uint64_t host_total_bytes = 0;
  int64_t cpu_cores = 0;  // one for each process and each data worker
  std::vector<Line> storage_lines;
  std::optional<Target> target;
  std::optional<bool> fits;          // by the best figures
  std::optional<bool> fits_at_high;  // also when all is as large as its bound
  std::string verdict;               // the answer as a sentence
  Largest largest;
  std::optional<int64_t> kv_tokens;  // serving: tokens that the cache of the target holds
  std::vector<std::string> left_out;
  std::vector<Strategy> strategies;
  std::vector<std::string> changes;  // what to change first
  std::vector<Diagnostic> diagnostics;

  const DevicePlan& WorstDevice() const;
};

class SimulationMemo;

struct PlanRequest {
  ModelDescription model;
  std::optional<ModelDescription> draft;  // speculative decoding: the model that proposes tokens
  Workload workload;
  std::optional<Card> card;
  std::optional<Profile> profile;  // what real runs corrected
  /// Of this model and workload, shared by requests that differ in the card alone; nothing: each is simulated anew.
  std::shared_ptr<SimulationMemo> simulations;
  /// Called with what is tried next, where many plans are made.
  std::function<void(std::string_view what)> progress;
  bool searches_largest = true;
  bool suggests_changes = true;  // and strategies: what the same job would take otherwise
};

/// Nothing is known of layers: of a count of parameters or of a weights file without a configuration. Its plan is of
/// the weights alone.
bool IsFloor(const ModelDescription& model);

/// The request as one of many that are tried for their figures alone.
PlanRequest TrialOf(const PlanRequest& request);

/// Checks the request and makes the plan. kInvalidArgument with a sentence when it cannot be (degrees that do not
/// divide, a workload that the model has no use for).
Result<Plan> MakePlan(PlanRequest request);

}  // namespace memstrata::plan
