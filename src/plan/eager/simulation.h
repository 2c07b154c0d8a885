#pragma once
// Runs a model for a few steps on a simulated device, as a training script or a generation loop would, and reads the
// result off the device.

#include <optional>

#include "plan/eager/device.h"
#include "plan/eager/model.h"
#include "plan/eager/optimizer.h"

namespace memstrata::plan::eager {

enum class Mode : uint8_t { kTrain, kForward, kDecode };

struct SimulationOptions {
  Mode mode = Mode::kTrain;
  RunOptions run;
  DType parameter_dtype = DType::kFloat32;
  std::optional<DType> autocast;
  OptimizerKind optimizer = OptimizerKind::kAdamWForeach;
  AdapterOptions adapters;
  int64_t accumulation = 1;
  bool sets_grads_to_none = true;
  bool keeps_outputs = false;
  bool clips_gradients = false;
  int64_t new_tokens = 0;
  int64_t rank_count = 1;           // of data parallelism; one of them is run
  int64_t sharded_layer_count = 0;  // above 0: fully sharded, by layers; with autocast, its number format is gathered
  DeviceTraits device;
  std::optional<uint64_t> device_limit_bytes;  // what the allocator can get
};

struct SimulationResult {
  CategoryBytes built{};  // live bytes after the model was made
  uint64_t parameter_bytes = 0;
  uint64_t gradient_bytes = 0;
  uint64_t optimizer_state_bytes = 0;
  uint64_t activation_bytes = 0;  // growth of allocated bytes over the last forward
  uint64_t kv_cache_after_prefill_bytes = 0;
  uint64_t kv_cache_end_bytes = 0;
  Peak peak;  // of the second and third step: the steady state
  Phase peak_phase = Phase::kForward;
  std::optional<uint64_t> forward_peak_bytes, backward_peak_bytes, optimizer_peak_bytes, prefill_peak_bytes,
      decode_peak_bytes;
  uint64_t optimizer_transient_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
  uint64_t flush_count = 0;
  std::optional<OutOfMemory> out_of_memory;
};

using ModelFactory =
    std::function<std::unique_ptr<EagerModel>(Tape& tape, DType dtype, const AdapterOptions& adapters)>;

/// Cost: about a microsecond per operation and step; a 32-layer decoder takes some tens of milliseconds.
SimulationResult Simulate(const ModelFactory& make_model, const SimulationOptions& options);

}  // namespace memstrata::plan::eager
