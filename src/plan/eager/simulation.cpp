#include "plan/eager/simulation.h"

#include <algorithm>

#include "plan/eager/gradient_buckets.h"
#include "plan/eager/layers.h"
#include "plan/eager/sharded_parameters.h"

namespace memstrata::plan::eager {
namespace {

constexpr uint32_t kSteps = 3;
constexpr uint32_t kFirstSteadyStep = 2;
// Of a generation, each token is one forward as the one before with a longer cache: the first and the last ones tell
// all. As many at each end are run.
constexpr int64_t kTokensAtEnds = 16;
constexpr int64_t kMicroBatches = 3;  // of a step: the third one runs as the second, and so do all others

class Run {
 public:
  Run(Device& device, const SimulationOptions& options)
      : device_(device), options_(options), tape_(device, options.device), optimizer_(options.optimizer) {}

  void Build(const ModelFactory& make_model) {
    device_.Enter(Phase::kBuild, 0);
    const bool is_sharded = options_.sharded_layer_count > 0;
    const DType gathered = options_.autocast.value_or(options_.parameter_dtype);
    tape_.set_parameters_on_host(is_sharded);
    model_ = make_model(tape_, is_sharded ? gathered : options_.parameter_dtype, options_.adapters);
    tape_.set_parameters_on_host(false);
    std::deque<Parameter>& parameters = model_->parameters().all();
    if (is_sharded) {
      const std::optional<DType> widened = options_.autocast ? std::optional(options_.parameter_dtype) : std::nullopt;
      shards_ = std::make_unique<ShardedParameters>(tape_, parameters, options_.sharded_layer_count,
                                                    options_.rank_count, widened);
      tape_.set_shards(shards_.get());
    } else if (options_.rank_count > 1) {
      buckets_ = std::make_unique<GradientBuckets>(tape_, parameters);
    }
    result_.built = device_.LiveBytes();
  }

  void Train() {
    for (uint32_t step = 1; step <= kSteps; ++step) {
      const int64_t told_apart = std::min(options_.accumulation, kMicroBatches);
      for (int64_t i = 0; i < told_apart; ++i) MicroStep(step);
      OptimizerStep(step);
    }
  }

  void Forward() {
    tape_.set_grad_enabled(false);
    for (uint32_t step = 1; step <= kSteps; ++step) {
      MakeInputs(step);
      const ModelOutput output = RunForward(Phase::kForward, step, inputs_, options_.run, nullptr);
      result_.kv_cache_end_bytes = LiveOf(Category::kKvCache);
      if (options_.keeps_outputs) kept_ = output;
    }
  }

  void Decode() {
    tape_.set_grad_enabled(false);
    for (uint32_t step = 1; step <= kSteps; ++step) {
      MakeInputs(step);
      std::shared_ptr<KvCache> cache = RunForward(Phase::kPrefill, step, inputs_, options_.run, nullptr).cache;
      result_.kv_cache_after_prefill_bytes = LiveOf(Category::kKvCache);
      cache = DecodeTokens(step, std::move(cache));
      result_.kv_cache_end_bytes = LiveOf(Category::kKvCache);
    }
  }

  SimulationResult Finish() {
    result_.parameter_bytes = result_.built[static_cast<size_t>(Category::kParameter)];
    result_.optimizer_state_bytes = LiveOf(Category::kOptimizerState);
    result_.peak = device_.FindPeak(kFirstSteadyStep);
    result_.peak_phase = device_.PeakPhase(kFirstSteadyStep);
    result_.forward_peak_bytes = device_.PhasePeak(Phase::kForward, kFirstSteadyStep);
    result_.backward_peak_bytes = device_.PhasePeak(Phase::kBackward, kFirstSteadyStep);
    result_.optimizer_peak_bytes = device_.PhasePeak(Phase::kOptimizer, kFirstSteadyStep);
    result_.prefill_peak_bytes = device_.PhasePeak(Phase::kPrefill, kFirstSteadyStep);
    result_.decode_peak_bytes = device_.PhasePeak(Phase::kDecode, kFirstSteadyStep);
    if (result_.optimizer_peak_bytes)
      result_.optimizer_transient_bytes = *result_.optimizer_peak_bytes - after_optimizer_;
    result_.peak_reserved_bytes = device_.peak_reserved_bytes();
    result_.flush_count = device_.flush_count();
    result_.out_of_memory = device_.out_of_memory();
    return result_;
  }

 private:
  uint64_t LiveOf(Category category) const { return device_.LiveBytes()[static_cast<size_t>(category)]; }

  std::shared_ptr<KvCache> DecodeTokens(uint32_t step, std::shared_ptr<KvCache> cache) {
    const int64_t count = options_.new_tokens;
    const int64_t skipped = count - 2 * kTokensAtEnds;
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < count; ++i) {
      if (i == kTokensAtEnds && skipped > 0 && cache) {
        GrowCache(tape_, *cache, lengths, skipped);
        i += skipped;
      }
      if (cache) lengths = CacheLengths(*cache);
      cache = DecodeToken(step, i, std::move(cache));
    }
    return cache;
  }

  std::shared_ptr<KvCache> DecodeToken(uint32_t step, int64_t index, std::shared_ptr<KvCache> cache) {
    RunOptions one = options_.run;
    one.sequence = 1;
    one.logits_to_keep = 0;
    ModelInputs token;
    token.ids = tape_.Empty({one.batch, 1}, DType::kInt64, Category::kInput);
    if (one.mask != MaskKind::kNone) {
      token.mask = tape_.Empty({one.batch, options_.run.sequence + index + 1}, DType::kInt64, Category::kInput);
    }
    return RunForward(Phase::kDecode, step, token, one, std::move(cache)).cache;
  }

  void MakeInputs(uint32_t step) {
    device_.Enter(Phase::kInput, step);
    inputs_ = model_->MakeInputs(tape_, options_.run);
  }

  ModelOutput RunForward(Phase phase, uint32_t step, const ModelInputs& inputs, const RunOptions& run,
                         std::shared_ptr<KvCache> cache) {
    device_.Enter(phase, step);
    if (options_.autocast) tape_.BeginAutocast(*options_.autocast);
    if (buckets_) buckets_->BeginForward();
    if (shards_) shards_->BeginForward();
    ModelOutput output = model_->Forward(tape_, inputs, run, std::move(cache));
    if (shards_) shards_->EndForward(output.loss);
    tape_.EndAutocast();
    return output;
  }

  void MicroStep(uint32_t step) {
    MakeInputs(step);
    const uint64_t before = device_.allocated_bytes();
    Tensor loss;
    {
      ModelOutput output = RunForward(Phase::kForward, step, inputs_, options_.run, nullptr);
      loss = output.loss;
      if (options_.keeps_outputs) kept_ = std::move(output);
    }
    result_.activation_bytes = device_.allocated_bytes() - before;
    device_.RelabelLive(Category::kForwardTemporary, Category::kActivation);
    device_.Enter(Phase::kBackward, step);
    tape_.RunBackward(loss, tape_.Empty({}, loss.dtype));
    if (shards_) shards_->EndBackward();
  }

  void OptimizerStep(uint32_t step) {
    result_.gradient_bytes = LiveOf(Category::kGradient);
    device_.Enter(Phase::kOptimizer, step);
    optimizer_.Step(tape_, model_->parameters().all());
    after_optimizer_ = device_.allocated_bytes();
    device_.Enter(Phase::kZeroGrad, step);
    if (!options_.sets_grads_to_none) return;
    for (Parameter& parameter : model_->parameters().all()) parameter.grad = Tensor{};
  }

  Device& device_;
  const SimulationOptions& options_;
  Tape tape_;
  Optimizer optimizer_;
  std::unique_ptr<EagerModel> model_;
  std::unique_ptr<ShardedParameters> shards_;
  std::unique_ptr<GradientBuckets> buckets_;
  ModelInputs inputs_;
  ModelOutput kept_;
  uint64_t after_optimizer_ = 0;
  SimulationResult result_;
};

}  // namespace

SimulationResult Simulate(const ModelFactory& make_model, const SimulationOptions& options) {
  Device device(options.device_limit_bytes);
  Run run(device, options);
  run.Build(make_model);
  switch (options.mode) {
    case Mode::kTrain:
      run.Train();
      break;
    case Mode::kForward:
      run.Forward();
      break;
    case Mode::kDecode:
      run.Decode();
      break;
  }
  return run.Finish();
}

}  // namespace memstrata::plan::eager
