#include "dryrun/plan_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "dryrun/start_hook.h"
#include "dryrun/wheel.h"
#include "plan/simulated_step.h"

namespace memstrata::dryrun {
namespace {

using plan::Task;
using plan::Workload;

struct HeadOfType {
  std::string_view model_type;
  std::string_view kind;
};

// Of models that the planner knows by their tensors alone; the others of them are decoders.
constexpr HeadOfType kHeads[] = {
    {"bart", "seq2seq"},      {"mbart", "seq2seq"},      {"pegasus", "seq2seq"}, {"marian", "seq2seq"},
    {"m2m_100", "seq2seq"},   {"blenderbot", "seq2seq"}, {"albert", "masked"},   {"electra", "masked"},
    {"modernbert", "masked"}, {"deberta-v2", "masked"},  {"dinov2", "image"},    {"swin", "image"},
    {"siglip", "contrast"},
};

// The head of the model, by a name that python/memstrata/_dryrun_model.py knows.
std::string_view KindOf(const plan::ModelDescription& model) {
  if (std::holds_alternative<plan::T5Spec>(model.step)) return "seq2seq";
  const auto* listed = std::find_if(std::begin(kHeads), std::end(kHeads),
                                    [&](const HeadOfType& head) { return head.model_type == model.model_type; });
  if (listed != std::end(kHeads)) return listed->kind;
  const auto* encoder = std::get_if<plan::EncoderSpec>(&model.step);
  if (encoder == nullptr) return "causal";
  switch (encoder->task) {
    case plan::EncoderTask::kMaskedLanguage:
      return "masked";
    case plan::EncoderTask::kImageClasses:
      return "image";
    case plan::EncoderTask::kContrast:
    case plan::EncoderTask::kSigmoidContrast:
      return "contrast";
  }
  return "masked";
}

std::optional<uint64_t> Bytes(const std::map<std::string, std::string>& measured, const std::string& name) {
  const auto found = measured.find(name);
  if (found == measured.end()) return std::nullopt;
  uint64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  if (std::from_chars(found->second.data(), end, value).ptr != end) return std::nullopt;
  return value;
}

// The scores that one forward gives, in the precision of its products. Contrasting models give none over a vocabulary.
std::optional<uint64_t> LogitBytes(const plan::Plan& plan) {
  const Workload& workload = plan.workload;
  const auto* encoder = std::get_if<plan::EncoderSpec>(&plan.model.step);
  if (encoder != nullptr &&
      (encoder->task == plan::EncoderTask::kContrast || encoder->task == plan::EncoderTask::kSigmoidContrast))
    return std::nullopt;
  int64_t positions = workload.sequence;
  if (encoder != nullptr && encoder->task == plan::EncoderTask::kImageClasses) positions = 1;
  if (KindOf(plan.model) == "seq2seq") {
    if (workload.target_sequence > 0) positions = workload.target_sequence;
    if (workload.task == Task::kGenerate) positions = 1;  // the decoder starts with one token
  }
  if (workload.logits_to_keep > 0) positions = std::min(positions, workload.logits_to_keep);
  return static_cast<uint64_t>(workload.batch * positions * plan.model.vocabulary) *
         plan::ComputeBytes(workload.precision);
}

std::map<std::string, std::string> ReadMeasured(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return ParseProbe(std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

std::string TextOf(const std::map<std::string, std::string>& measured, const std::string& name) {
  const auto found = measured.find(name);
  return found == measured.end() ? "" : found->second;
}

}  // namespace

std::optional<int64_t> ComparedTerm::DifferenceBytes() const {
  if (!planned_bytes || !measured_bytes) return std::nullopt;
  return static_cast<int64_t>(*planned_bytes) - static_cast<int64_t>(*measured_bytes);
}

std::optional<double> ComparedTerm::Error() const {
  const std::optional<int64_t> difference = DifferenceBytes();
  if (!difference || *measured_bytes == 0) return std::nullopt;
  return static_cast<double>(*difference) / static_cast<double>(*measured_bytes);
}

std::optional<std::string> WhyNotComparable(const plan::PlanRequest& request) {
  const Workload& workload = request.workload;
  const plan::Parallel& parallel = workload.parallel;
  if (request.model.vision || request.model.diffusion || request.model.model_type == "whisper") {
    return "The dry run of a plan gives a model tokens, pictures or both to compare; this one takes other inputs. Run "
           "its own script with memstrata dryrun.";
  }
  if (!workload.assets.empty()) return "Assets are memory that you name; a dry run knows nothing of them.";
  if (workload.task == Task::kServe || workload.engine != plan::Engine::kTorch) {
    return "The dry run of a plan is PyTorch with transformers. Another engine plans its own memory: run it with "
           "memstrata dryrun.";
  }
  if (workload.adapter != plan::Adapter::kLowRank)
    return "Of adapters, the dry run of a plan has LoRA; the other forms are code of one trainer.";
  if (workload.weight_format != plan::WeightFormat::kAsPrecision)
    return "Packed weights are kernels of a package that the dry run of a plan does not use.";
  if (parallel.DeviceCount() != parallel.data || parallel.expert > 1 || parallel.replicas > 1)
    return "Of several devices, the dry run of a plan has data parallelism; transformers does not split one model.";
  const bool has_stages_of_zero =
      parallel.sharding == plan::Sharding::kZero1 || parallel.sharding == plan::Sharding::kZero2;
  if (has_stages_of_zero || workload.offload != plan::Offload::kNone)
    return "Of sharding, the dry run of a plan has PyTorch's own: none (DDP) or full (zero=3, FSDP2), without offload.";
  const bool is_sharded = parallel.sharding == plan::Sharding::kZero3 && parallel.data > 1;
  if (is_sharded && KindOf(request.model) == "contrast")
    return "PyTorch's full sharding (zero=3) takes no scalar parameter; this model has one, its temperature.";
  if (is_sharded && workload.TrainsAdapters() && workload.precision != plan::Precision::kFloat32)
    return "PyTorch's full sharding (zero=3) wants parameters of one number format; adapters in float32 beside weights "
           "in 16 bits are none.";
  if (!plan::HasSimulatedOptimizer(workload.optimizer))
    return fmt::format("The optimizer {} is of a package that the dry run of a plan does not use.",
                       Name(workload.optimizer));
  if (workload.loss != plan::Loss::kPlain) return "The loss of transformers is the plain one.";
  if (workload.recompute == plan::Recompute::kSelective) return "The checkpointing of transformers is of whole layers.";
  return std::nullopt;
}

Result<DryRunRequest> RequestOfPlan(const plan::PlanRequest& request, const std::string& config,
                                    const std::string& interpreter) {
  if (const std::optional<std::string> reason = WhyNotComparable(request))
    return Fail(ErrorCode::kInvalidArgument, *reason);
  DryRunRequest dry_run;
  dry_run.interpreter = interpreter;
  const std::string module = fmt::format("{}._dryrun_plan", kDryRunPackage);
  dry_run.command = {interpreter, "-m", module, config, std::string(KindOf(request.model))};
  for (const auto& [name, value] : plan::EffectiveInputs(request.workload)) {
    dry_run.command.push_back(fmt::format("{}={}", name, value));
  }
  dry_run.card = *request.card;
  // A mask of ones is asked whether all of it is one.
  dry_run.true_after = request.workload.mask == plan::AttentionMask::kOnes ? 1 : 0;
  dry_run.world_size = static_cast<uint32_t>(request.workload.parallel.data);
  dry_run.shadow = dry_run.world_size > 1;  // ranks compare what they broadcast
  dry_run.output_to_stderr = true;
  return dry_run;
}

std::vector<ComparedTerm> PairTerms(const plan::Plan& plan, const std::map<std::string, std::string>& measured) {
  const plan::DevicePlan& device = plan.devices.front();
  const plan::StateBytes& states = device.states;
  std::vector<ComparedTerm> terms;
  const auto add = [&](const std::string& term, std::optional<uint64_t> planned, const std::string& name) {
    terms.push_back({term, planned, Bytes(measured, name)});
  };
  add("weights", states.parameters, "term.weights");
  // The closed forms do not tell buffers and the moments of a step apart.
  const auto if_simulated = [&](uint64_t bytes) {
    return device.phase_peaks.empty() ? std::nullopt : std::optional(bytes);
  };
  add("buffers", if_simulated(states.buffers), "term.buffers");
  if (plan.workload.task == Task::kTrain) {
    add("gradients", states.gradients, "term.gradients");
    if (plan.workload.optimizer != plan::OptimizerName::kNone)
      add("optimizer", states.optimizer_state, "term.optimizer");
    add("activations", states.activations_end_of_forward, "term.activations");
    add("optimizer_transient", if_simulated(states.optimizer_transient), "term.optimizer_transient");
  }
  add("logits", LogitBytes(plan), "term.logits");
  if (plan.workload.task == Task::kGenerate) add("kv_cache", states.kv_cache, "term.kv_cache");
  for (const auto& [phase, bytes] : device.phase_peaks) add(phase + "_peak", bytes, "phase_peak." + phase);
  add("framework_peak", device.framework_peak_bytes, "term.framework_peak");
  add("framework_reserved", device.framework_reserved_bytes, "term.framework_reserved");
  return terms;
}

Result<PlanComparison> ComparePlan(plan::Plan plan, const DryRunRequest& request, const Stage& stage) {
  PlanComparison comparison;
  comparison.card = request.card;
  MEMSTRATA_ASSIGN_OR_RETURN(comparison.run, RunOnce(request, stage));
  const std::map<std::string, std::string> measured = ReadMeasured(stage.record_folder() + "/plan.tsv");
  comparison.transformers_version = TextOf(measured, "transformers");
  const bool has_ended = measured.contains("peak_phase");
  comparison.last_phase = TextOf(measured, has_ended ? "peak_phase" : "phase");
  if (has_ended) comparison.terms = PairTerms(plan, measured);
  comparison.plan = std::move(plan);
  return comparison;
}

}  // namespace memstrata::dryrun
