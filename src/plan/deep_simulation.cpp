#include "plan/deep_simulation.h"

#include <array>

namespace memstrata::plan {
namespace {

using eager::SimulationResult;

constexpr int64_t kMostLayers = 160;  // of a model that is simulated whole
constexpr int64_t kLonger = 128;
constexpr int64_t kShorter = 80;  // 48 layers less: whole periods of layers that alternate by 2, 3, 4, 6 or 8

// A figure of both shorter models, as it is for the deep one.
class Continuation {
 public:
  explicit Continuation(int64_t layer_count) : further_(layer_count - kLonger) {}

  uint64_t Of(uint64_t shorter, uint64_t longer) const {
    const auto each = static_cast<double>(static_cast<int64_t>(longer - shorter)) / (kLonger - kShorter);
    const double value = static_cast<double>(longer) + each * static_cast<double>(further_);
    return value > 0 ? static_cast<uint64_t>(value) : 0;
  }
  std::optional<uint64_t> Of(const std::optional<uint64_t>& shorter, const std::optional<uint64_t>& longer) const {
    return shorter && longer ? std::optional(Of(*shorter, *longer)) : std::nullopt;
  }
  eager::CategoryBytes Of(const eager::CategoryBytes& shorter, const eager::CategoryBytes& longer) const {
    eager::CategoryBytes result{};
    for (size_t i = 0; i < result.size(); ++i) result[i] = Of(shorter[i], longer[i]);
    return result;
  }

 private:
  int64_t further_;
};

SimulationResult Continue(const SimulationResult& shorter, const SimulationResult& longer, const Continuation& with) {
  SimulationResult result = longer;
  constexpr std::array kFigures = {&SimulationResult::parameter_bytes,
                                   &SimulationResult::gradient_bytes,
                                   &SimulationResult::optimizer_state_bytes,
                                   &SimulationResult::activation_bytes,
                                   &SimulationResult::kv_cache_after_prefill_bytes,
                                   &SimulationResult::kv_cache_end_bytes,
                                   &SimulationResult::optimizer_transient_bytes,
                                   &SimulationResult::peak_reserved_bytes};
  for (const auto figure : kFigures) result.*figure = with.Of(shorter.*figure, longer.*figure);
  constexpr std::array kPeaks = {&SimulationResult::forward_peak_bytes, &SimulationResult::backward_peak_bytes,
                                 &SimulationResult::optimizer_peak_bytes, &SimulationResult::prefill_peak_bytes,
                                 &SimulationResult::decode_peak_bytes};
  for (const auto peak : kPeaks) result.*peak = with.Of(shorter.*peak, longer.*peak);
  result.built = with.Of(shorter.built, longer.built);
  result.peak.live = with.Of(shorter.peak.live, longer.peak.live);
  result.peak.requested_bytes = 0;
  for (const uint64_t bytes : result.peak.live) result.peak.requested_bytes += bytes;
  result.peak.rounding_bytes = with.Of(shorter.peak.rounding_bytes, longer.peak.rounding_bytes);
  result.peak.allocated_bytes = result.peak.requested_bytes + result.peak.rounding_bytes;
  return result;
}

}  // namespace

bool IsDeep(const DecoderSpec& spec) { return spec.layer_count > kMostLayers; }

SimulationResult SimulateDeep(const DecoderSpec& spec, const eager::SimulationOptions& options,
                              const SpecSimulator& simulate) {
  eager::SimulationOptions endless = options;
  endless.device_limit_bytes.reset();
  const auto of_layers = [&](int64_t count) {
    DecoderSpec shorter = spec;
    shorter.layer_count = count;
    if (endless.sharded_layer_count > 0) endless.sharded_layer_count = count;
    return simulate(shorter, endless);
  };
  const SimulationResult shorter = of_layers(kShorter);
  const SimulationResult longer = of_layers(kLonger);
  if (shorter.peak_phase != longer.peak_phase) return simulate(spec, options);
  SimulationResult result = Continue(shorter, longer, Continuation(spec.layer_count));
  const bool is_beyond = options.device_limit_bytes && result.peak_reserved_bytes > *options.device_limit_bytes;
  if (is_beyond) result.out_of_memory = eager::OutOfMemory{};
  return result;
}

}  // namespace memstrata::plan
