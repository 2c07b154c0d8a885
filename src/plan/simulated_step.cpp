#include "plan/simulated_step.h"

#include <fmt/format.h>

#include "plan/constants.h"
#include "plan/deep_simulation.h"
#include "plan/eager/bart_model.h"
#include "plan/eager/deberta_model.h"
#include "plan/eager/decoder_model.h"
#include "plan/eager/encoder_model.h"
#include "plan/eager/modern_bert_model.h"
#include "plan/eager/simulation.h"
#include "plan/eager/t5_model.h"
#include "plan/model/adapter_targets.h"
#include "plan/outside.h"
#include "plan/simulation_memo.h"

namespace memstrata::plan {
namespace {

using eager::Category;
using eager::SimulationOptions;
using eager::SimulationResult;

constexpr int64_t kSelectiveEvery = 2;  // "selective" without an engine that chooses operators: every second layer

eager::OptimizerKind KindOf(OptimizerName name) {
  using O = OptimizerName;
  using K = eager::OptimizerKind;
  switch (name) {
    case O::kAdamW:
      return K::kAdamWForeach;
    case O::kAdamWFused:
      return K::kAdamWFused;
    case O::kAdamWForLoop:
      return K::kAdamWForLoop;
    case O::kSgd:
      return K::kSgd;
    case O::kSgdMomentum:
      return K::kSgdMomentum;
    case O::kSgdMomentumForLoop:
      return K::kSgdMomentumForLoop;
    case O::kAdafactorTransformers:
      return K::kAdafactorTransformers;
    case O::kAdafactorTorch:
      return K::kAdafactorTorch;
    case O::kNone:
    case O::kAdamW8bit:
    case O::kLion:
    case O::kMuon:
      return K::kNone;
  }
  return K::kNone;
}

void SetPrecision(Precision precision, SimulationOptions& options) {
  using eager::DType;
  switch (precision) {
    case Precision::kFloat32:
      options.parameter_dtype = DType::kFloat32;
      break;
    case Precision::kBfloat16:
      options.parameter_dtype = DType::kBfloat16;
      break;
    case Precision::kFloat16:
      options.parameter_dtype = DType::kFloat16;
      break;
    case Precision::kBfloat16Autocast:
      options.autocast = DType::kBfloat16;
      break;
    case Precision::kFloat16Autocast:
      options.autocast = DType::kFloat16;
      break;
  }
}

eager::CheckpointKind CheckpointOf(Recompute recompute) {
  switch (recompute) {
    case Recompute::kFull:
    case Recompute::kSelective:
      return eager::CheckpointKind::kNonReentrant;
    case Recompute::kFullReentrant:
      return eager::CheckpointKind::kReentrant;
    case Recompute::kNone:
      return eager::CheckpointKind::kNone;
  }
  return eager::CheckpointKind::kNone;
}

SimulationOptions OptionsOf(const PlanRequest& request) {
  const Workload& w = request.workload;
  SimulationOptions options;
  options.mode = w.task == Task::kTrain      ? eager::Mode::kTrain
                 : w.task == Task::kGenerate ? eager::Mode::kDecode
                                             : eager::Mode::kForward;
  SetPrecision(w.precision, options);
  options.optimizer = KindOf(w.optimizer);
  options.run.batch = w.batch;
  options.run.sequence = w.sequence;
  options.run.target_sequence = w.target_sequence;
  options.run.mask = static_cast<eager::MaskKind>(w.mask);
  options.run.checkpoint = CheckpointOf(w.recompute);
  options.run.checkpoint_every = w.recompute == Recompute::kSelective ? kSelectiveEvery : 1;
  options.run.loss = static_cast<eager::LossKind>(w.loss);
  options.run.attention = w.eager_attention ? eager::AttentionKind::kEager : eager::AttentionKind::kFused;
  options.run.use_cache =
      w.use_cache && (w.task != Task::kTrain || options.run.checkpoint == eager::CheckpointKind::kNone);
  options.run.is_training = w.task == Task::kTrain;
  options.run.logits_to_keep = w.logits_to_keep;
  options.run.generates = w.task == Task::kGenerate;
  const bool is_packed = w.weight_format != WeightFormat::kAsPrecision;
  options.adapters = {static_cast<eager::AdapterForm>(w.adapter), w.lora_rank, w.lora_dropout,
                      is_packed ? BitsPerWeight(w.weight_format, w.precision) : 0,
                      AdapterTargets(request.model.model_type, w.lora_targets)};
  options.accumulation = w.accumulation;
  options.sets_grads_to_none = w.sets_grads_to_none;
  options.keeps_outputs = w.keeps_outputs;
  options.clips_gradients = w.clips_gradients;
  options.new_tokens = w.new_tokens;
  options.rank_count = w.parallel.data;
  const bool is_sharded = w.parallel.data > 1 && w.parallel.sharding == Sharding::kZero3;
  if (is_sharded) options.sharded_layer_count = request.model.layer_count;
  options.device.workspace_bytes = WorkspaceBytes(request.card, w.is_deterministic);
  if (!request.card) return options;
  const Card& card = *request.card;
  if (card.multiprocessor_count > 0) options.device.multiprocessor_count = card.multiprocessor_count;
  if (card.threads_per_multiprocessor > 0) options.device.threads_per_multiprocessor = card.threads_per_multiprocessor;
  // What the allocator can get: the card without the process's other lines.
  uint64_t outside_bytes = card.context_bytes;
  if (UsesCuda(request.card))
    outside_bytes +=
        static_cast<uint64_t>(GetConstant("communicator_bytes").best) * static_cast<uint64_t>(CommunicatorCount(w));
  if (card.visible_bytes > outside_bytes) options.device_limit_bytes = card.visible_bytes - outside_bytes;
  return options;
}

std::unique_ptr<eager::EagerModel> MakeModel(const ModelDescription& model, eager::Tape& tape, eager::DType dtype,
                                             const eager::AdapterOptions& adapters) {
  if (const auto* decoder = std::get_if<DecoderSpec>(&model.step))
    return eager::MakeDecoder(tape, *decoder, dtype, adapters);
  const eager::ModelTensors tensors{model.parameters, model.buffers};
  if (const auto* encoder = std::get_if<EncoderSpec>(&model.step))
    return eager::MakeEncoder(tape, *encoder, tensors, dtype, adapters);
  if (const auto* bart = std::get_if<BartSpec>(&model.step))
    return eager::MakeBart(tape, *bart, tensors, dtype, adapters);
  if (const auto* deberta = std::get_if<DebertaSpec>(&model.step))
    return eager::MakeDeberta(tape, *deberta, tensors, dtype, adapters);
  if (const auto* modern = std::get_if<ModernBertSpec>(&model.step))
    return eager::MakeModernBert(tape, *modern, tensors, dtype, adapters);
  return eager::MakeT5(tape, std::get<T5Spec>(model.step), dtype, adapters);
}

// Which line a category belongs to, and what to say about it.
struct Term {
  Category category;
  const char* name;
  bool is_persistent;
  const char* what;
  const char* changed_by;
};

constexpr Term kTerms[] = {
    {Category::kParameter, "weights", true, "all parameters in their storage format", "precision, weights, parallel"},
    {Category::kBuffer, "buffers", true, "constants that the model keeps (rotary frequencies, masks)", ""},
    {Category::kGradient, "gradients", true, "gradients alive at the peak",
     "accumulation, grads-to-none, lora-rank, parallel"},
    {Category::kOptimizerState, "optimizer", true, "states of all trained parameters",
     "optimizer, lora-rank, parallel"},
    {Category::kActivation, "activations", false,
     "what the forward saved for the backward and is still alive at the peak",
     "batch, sequence, recompute, attention, parallel"},
    {Category::kAutocastCopy, "autocast", false, "low-precision copies of weights made by autocast", "precision"},
    {Category::kLogits, "logits", false, "scores of all tokens over the vocabulary", "batch, sequence, logits-to-keep"},
    {Category::kForwardTemporary, "forward_transient", false, "temporaries of the forward at the peak",
     "batch, sequence"},
    {Category::kBackwardTemporary, "backward_transient", false,
     "temporaries of the backward at the peak, the loss's gradient among them", "batch, sequence, recompute"},
    {Category::kOptimizerTemporary, "optimizer_transient", false, "temporaries of the optimizer step at the peak",
     "optimizer"},
    {Category::kInput, "inputs", false, "token ids, masks, labels, pixels", "batch, sequence"},
    {Category::kKvCache, "kv_cache", false, "keys and values of earlier tokens", "batch, sequence, use-cache"},
    {Category::kWorkspace, "workspace", true, "cuBLAS workspaces, one a thread", "deterministic"},
    {Category::kCommunication, "communication", true,
     "buckets of gradients, or gathered weights and the buffers of collectives", "parallel"},
    {Category::kOther, "other", false, "the rest", ""},
};

// "2 B x 124439808 parameters" for what goes with the parameters; the step's sizes for the rest.
std::string FormulaOf(Category category, uint64_t bytes, const PlanRequest& request) {
  const Workload& w = request.workload;
  const bool is_state =
      category == Category::kParameter || category == Category::kGradient || category == Category::kOptimizerState;
  if (is_state && !w.TrainsAdapters() && request.model.parameter_count > 0) {
    const int64_t ranks = w.parallel.sharding == Sharding::kZero3 ? w.parallel.data : 1;
    const double each =
        static_cast<double>(bytes) * static_cast<double>(ranks) / static_cast<double>(request.model.parameter_count);
    const std::string shared = ranks > 1 ? fmt::format(" / {} ranks", ranks) : "";
    return fmt::format("{:.6g} B x {} parameters{}", each, request.model.parameter_count, shared);
  }
  if (category == Category::kCommunication) return fmt::format("one of {} ranks", w.parallel.data);
  const auto* encoder = std::get_if<EncoderSpec>(&request.model.step);
  const bool is_of_images = encoder != nullptr && !encoder->text;
  return is_of_images ? fmt::format("batch of {} images, {}", w.batch, Name(w.precision))
                      : fmt::format("batch {} x sequence {}, {}", w.batch, w.sequence, Name(w.precision));
}

void AddLines(const SimulationResult& result, const PlanRequest& request, DevicePlan& device) {
  const Constant& spread = GetConstant("simulated_peak");
  const auto scaled = [](uint64_t bytes, double factor) {
    return static_cast<uint64_t>(static_cast<double>(bytes) * factor);
  };
  for (const Term& term : kTerms) {
    const uint64_t bytes = result.peak.live[static_cast<size_t>(term.category)];
    if (bytes == 0) continue;
    Line line{term.name,
              bytes,
              bytes,
              bytes,
              Basis::kComputed,
              "",
              "simulated step of transformers 4.57 on PyTorch 2.7",
              term.is_persistent,
              term.changed_by};
    if (term.category == Category::kCommunication)  // buckets stay, what is gathered goes
      line.is_persistent = request.workload.parallel.sharding == Sharding::kNone;
    line.how = fmt::format("{}: {}", term.what, FormulaOf(term.category, bytes, request));
    if (!line.is_persistent) {
      line.low_bytes = scaled(bytes, spread.low);
      line.high_bytes = scaled(bytes, spread.high);
    }
    device.lines.push_back(std::move(line));
  }
  const uint64_t rounding = result.peak.rounding_bytes;
  device.lines.push_back({"rounding", rounding, 0, rounding + (uint64_t{2} << 20), Basis::kComputed,
                          "512 B steps and block remainders that the allocator does not split off",
                          "model of the caching allocator", false, ""});
}

// What training over packed weights was seen to take besides; the step itself does not explain it.
void AddPackedOverhead(const PlanRequest& request, DevicePlan& device) {
  if (request.workload.weight_format == WeightFormat::kAsPrecision) return;
  double packed = 0;
  for (const ParameterSpec& parameter : request.model.parameters) {
    if (IsLinearMatrix(parameter) && !parameter.keeps_precision)
      packed += static_cast<double>(CountElements(parameter));
  }
  // A layer that runs again keeps nothing for its backward, so there only one layer's part is alive.
  const bool keeps_layers = request.workload.recompute == Recompute::kNone;
  if (!keeps_layers) packed /= static_cast<double>(std::max<int64_t>(1, request.model.layer_count));
  const Constant& fixed = keeps_layers ? GetConstant("packed_training_fixed_bytes") : Constant{};
  const Constant& each = GetConstant("packed_training_bytes_each");
  Line line{"packed_weights_overhead",
            static_cast<uint64_t>(fixed.best + each.best * packed),
            static_cast<uint64_t>(fixed.low + each.low * packed),
            static_cast<uint64_t>(fixed.high + each.high * packed),
            Basis::kMeasured,
            fmt::format("{} B + {} B x {} parameters of packed layers", fixed.best, each.best, packed),
            each.source,
            false,
            "weights, recompute"};
  device.framework_peak_bytes += line.bytes;
  device.framework_peak_low_bytes += line.low_bytes;
  device.framework_peak_high_bytes += line.high_bytes;
  device.lines.push_back(std::move(line));
}

void AddOutsideOfPeak(const PlanRequest& request, const SimulationResult& result, DevicePlan& device) {
  const uint64_t cached =
      result.peak_reserved_bytes - std::min(result.peak_reserved_bytes, result.peak.allocated_bytes);
  const auto most =
      static_cast<uint64_t>(static_cast<double>(cached) * GetConstant("simulated_fragmentation_line").high);
  device.lines.push_back({"fragmentation", cached, 0, most, Basis::kComputed,
                          "segments that the allocator holds beyond what is allocated at the peak",
                          "model of the caching allocator", false, "PYTORCH_CUDA_ALLOC_CONF"});
  AddOutsideLines(request, device);
}

void AddPhases(const SimulationResult& result, DevicePlan& device) {
  const auto add = [&](const char* name, const std::optional<uint64_t>& peak) {
    if (peak) device.phase_peaks[name] = *peak;
  };
  add("forward", result.forward_peak_bytes);
  add("backward", result.backward_peak_bytes);
  add("optimizer", result.optimizer_peak_bytes);
  add("prefill", result.prefill_peak_bytes);
  add("decode", result.decode_peak_bytes);
  device.peak_phase = eager::PhaseName(result.peak_phase);
}

// One device, or one rank of PyTorch's own data parallelism.
bool IsOnOneDevice(const ModelDescription& model, const Workload& w) {
  const Parallel& p = w.parallel;
  if (p.DeviceCount() == 1) return true;
  if (p.DeviceCount() != p.data || p.expert > 1 || p.replicas > 1 || w.task != Task::kTrain) return false;
  if (p.sharding == Sharding::kNone) return true;
  // What is gathered goes again; fully_shard takes no scalar parameter, and contrasting models have one.
  const auto* encoder = std::get_if<EncoderSpec>(&model.step);
  const bool is_decoder = model.decoder() != nullptr && model.decoder()->experts.count == 0;
  const bool is_encoder = encoder != nullptr && encoder->text.has_value() != encoder->image.has_value() &&
                          encoder->text_stack.order.empty();
  const bool is_layered = is_decoder || is_encoder || std::holds_alternative<T5Spec>(model.step);
  return p.sharding == Sharding::kZero3 && is_layered && !w.keeps_frozen_gathered &&
         w.recompute != Recompute::kFullReentrant;
}

SimulationResult OfSpec(const DecoderSpec& spec, const SimulationOptions& options) {
  return eager::Simulate(
      [&spec](eager::Tape& tape, eager::DType dtype, const eager::AdapterOptions& adapters) {
        return eager::MakeDecoder(tape, spec, dtype, adapters);
      },
      options);
}

}  // namespace

bool HasSimulatedOptimizer(OptimizerName name) {
  return name != OptimizerName::kAdamW8bit && name != OptimizerName::kLion && name != OptimizerName::kMuon;
}

bool CanSimulate(const ModelDescription& model, const Workload& w) {
  const bool is_usual = w.loss == Loss::kPlain && w.recompute != Recompute::kSelective;
  if (!is_usual && model.decoder() == nullptr) return false;  // loss and layers of causal models only
  return model.HasSimulatedStep() && w.engine == Engine::kTorch && IsOnOneDevice(model, w) && w.task != Task::kServe &&
         (w.weight_format == WeightFormat::kAsPrecision || w.TrainsAdapters()) && w.offload == Offload::kNone &&
         HasSimulatedOptimizer(w.optimizer) && !w.is_compiled;
}

DevicePlan SimulateDevice(const PlanRequest& request) {
  const SimulationOptions options = OptionsOf(request);
  const ModelDescription& model = request.model;
  const auto simulate = [&model](const SimulationOptions& these) {
    if (model.decoder() != nullptr && IsDeep(*model.decoder())) return SimulateDeep(*model.decoder(), these, OfSpec);
    return eager::Simulate(
        [&model](eager::Tape& tape, eager::DType dtype, const eager::AdapterOptions& adapters) {
          return MakeModel(model, tape, dtype, adapters);
        },
        these);
  };
  SimulationMemo one;
  SimulationMemo& memo = request.simulations ? *request.simulations : one;
  const SimulationResult result = memo.Find(options, simulate);
  DevicePlan device;
  AddLines(result, request, device);
  // Adapters are code of the trainer, not of the model.
  const bool has_experts = model.decoder() != nullptr && model.decoder()->experts.count > 0;
  device.peak_spread = request.workload.TrainsAdapters() ? "simulated_adapter_peak"
                       : has_experts                     ? "simulated_expert_peak"
                                                         : "simulated_peak";
  const Constant& spread = GetConstant(device.peak_spread);
  device.framework_peak_bytes = result.peak.allocated_bytes;
  device.framework_peak_low_bytes =
      static_cast<uint64_t>(static_cast<double>(result.peak.allocated_bytes) * spread.low);
  device.framework_peak_high_bytes =
      static_cast<uint64_t>(static_cast<double>(result.peak.allocated_bytes) * spread.high);
  device.framework_reserved_bytes = result.peak_reserved_bytes;
  AddPackedOverhead(request, device);
  AddOutsideOfPeak(request, result, device);
  AddPhases(result, device);
  device.states = {result.parameter_bytes,          result.built[static_cast<size_t>(Category::kBuffer)],
                   result.gradient_bytes,           result.optimizer_state_bytes,
                   result.activation_bytes,         result.kv_cache_end_bytes,
                   result.optimizer_transient_bytes};
  // What packed weights take besides is not in the simulated step, so there only a failure is an answer.
  const bool is_complete = request.workload.weight_format == WeightFormat::kAsPrecision;
  if (options.device_limit_bytes && (is_complete || result.out_of_memory))
    device.simulation_fits = !result.out_of_memory.has_value();
  return device;
}

}  // namespace memstrata::plan
