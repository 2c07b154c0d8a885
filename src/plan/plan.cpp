#include "plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "plan/advice.h"
#include "plan/assumed_structure.h"
#include "plan/constants.h"
#include "plan/engine_support.h"
#include "plan/host.h"
#include "plan/judge.h"
#include "plan/largest.h"
#include "plan/model/adapter_targets.h"
#include "plan/near_simulation.h"
#include "plan/outside.h"
#include "plan/serving.h"
#include "plan/sharded_states.h"
#include "plan/sharded_step.h"
#include "plan/simulated_step.h"
#include "plan/strategies.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostSimulatedElements = int64_t{1} << 46;  // of one activation: beyond it sizes would overflow

// Stages that each hold several pieces of the model, and groups of data-parallel ranks.
Status CheckPieces(const PlanRequest& request) {
  const Parallel& p = request.workload.parallel;
  const int64_t layers = request.model.layer_count;
  const auto fail = [](std::string text) { return Fail(ErrorCode::kInvalidArgument, std::move(text)); };
  if (p.pipeline == 1 && (p.virtual_stages > 1 || p.virtual_group > 0))
    return fail("Virtual stages (vpp, group) are pieces of pipeline stages; give pp, too.");
  if (p.virtual_group > 0 && p.virtual_stages == 1)
    return fail("group is for interleaved schedules; give the number of virtual stages, vpp, too.");
  // torchtitan cuts a model anywhere; the others want pieces of one size, but for the first and last. Megatron can
  // count the table and the head as layers.
  const int64_t pieces = p.pipeline * p.virtual_stages;
  const bool cuts_anywhere =
      request.workload.engine == Engine::kTorchtitan || p.first_stage_layers + p.last_stage_layers > 0;
  const bool is_even = layers % pieces == 0 || (layers + 1) % pieces == 0 || (layers + 2) % pieces == 0;
  if (p.virtual_stages > 1 && layers > 0 && (cuts_anywhere ? pieces > layers : !is_even)) {
    return fail(fmt::format("{} layers cannot be divided among {} stages of {} virtual stages each.", layers,
                            p.pipeline, p.virtual_stages));
  }
  if (p.data % p.replicas != 0) {
    return fail(fmt::format("{} data-parallel ranks cannot be divided among {} replicas.", p.data, p.replicas));
  }
  return {};
}

Status CheckDegrees(const PlanRequest& request) {
  const Parallel& p = request.workload.parallel;
  const ModelDescription& model = request.model;
  const auto fail = [](std::string text) { return Fail(ErrorCode::kInvalidArgument, std::move(text)); };
  if (model.layer_count > 0 && p.pipeline > model.layer_count) {
    return fail(fmt::format("{} pipeline stages cannot share {} layers.", p.pipeline, model.layer_count));
  }
  const int64_t ends = p.first_stage_layers + p.last_stage_layers;
  if (ends > 0 && (p.pipeline < 2 || ends > model.layer_count || (p.pipeline == 2) != (ends == model.layer_count))) {
    return fail(fmt::format("A first stage of {} and a last one of {} layers do not share {} layers with {} stages.",
                            p.first_stage_layers, p.last_stage_layers, model.layer_count, p.pipeline));
  }
  MEMSTRATA_TRY(CheckPieces(request));
  if (request.workload.sequence % p.context != 0) {
    return fail(fmt::format("A sequence of {} tokens cannot be divided among {} context-parallel ranks.",
                            request.workload.sequence, p.context));
  }
  const DecoderSpec* spec = model.decoder();
  if (spec == nullptr) return {};
  const bool attends =
      spec->mixers.empty() || std::count(spec->mixers.begin(), spec->mixers.end(), MixerKind::kAttention) > 0;
  if (attends && spec->heads % p.tensor != 0) {
    return fail(
        fmt::format("{} attention heads cannot be divided among {} tensor-parallel ranks.", spec->heads, p.tensor));
  }
  if (spec->intermediate % p.tensor != 0) {
    return fail(fmt::format("An MLP width of {} cannot be divided among {} tensor-parallel ranks.", spec->intermediate,
                            p.tensor));
  }
  if (p.expert > 1 && spec->experts.count == 0)
    return fail("Expert parallelism needs a model with experts; this one has none.");
  if (p.expert > 1 && spec->experts.count % p.expert != 0) {
    return fail(
        fmt::format("{} experts cannot be divided among {} expert-parallel ranks.", spec->experts.count, p.expert));
  }
  const int64_t ranks = p.StageDeviceCount();
  if (spec->experts.count > 0 && p.expert > 1 && ranks % (p.expert * p.ExpertTensor()) != 0) {
    return fail(fmt::format("{} ranks of a pipeline stage cannot hold {} groups of experts on {} ranks each.", ranks,
                            p.expert, p.ExpertTensor()));
  }
  return {};
}

// Inputs that only some tasks or models have a use for.
Status CheckUses(const PlanRequest& request) {
  const Workload& w = request.workload;
  const auto fail = [](std::string text) { return Fail(ErrorCode::kInvalidArgument, std::move(text)); };
  if (w.task != Task::kTrain) {
    if (w.lora_rank > 0) return fail("lora-rank is for training.");
    if (w.adapter != Adapter::kLowRank) return fail("adapter is for training.");
    if (w.offload != Offload::kNone) return fail("offload is for training.");
  }
  if (w.lora_rank > 0 && !request.model.parameters.empty() &&
      ParametersOfRank(request.model, w, w.parallel.pipeline - 1).adapters == 0)
    return fail(fmt::format("No linear layer of the model is called {}; there are {}.",
                            fmt::join(w.lora_targets, " or "),
                            fmt::join(AdaptableNames(request.model.parameters), ", ")));
  if (request.profile && request.profile->engine != Name(w.engine))
    return fail(fmt::format("The profile {} is of {}; the plan is for {}.", request.profile->name,
                            request.profile->engine, Name(w.engine)));
  int64_t widest = 0;
  for (const ParameterSpec& parameter : request.model.parameters) {
    if (IsLinearMatrix(parameter)) widest = std::max({widest, parameter.shape[0], parameter.shape[1]});
  }
  if (widest > 0 && w.lora_rank > widest)
    return fail(
        fmt::format("A rank of {} is beyond the widest layer, {}: an adapter would be larger than what it adapts.",
                    w.lora_rank, widest));
  if (w.adapter == Adapter::kPrompt && request.model.decoder() == nullptr)
    return fail("Prompt adapters need a decoder; this model is none.");
  if (w.offload == Offload::kOptimizerAndWeights && w.parallel.sharding != Sharding::kZero3)
    return fail("Weights are offloaded with zero=3 only; give --parallel zero=3 or --offload optimizer.");
  if (w.task != Task::kServe && (w.draft_tokens > 0 || request.draft))
    return fail("A draft model is for serving: give --task serve.");
  if (w.devices > 0 && w.devices < w.parallel.DeviceCount())
    return fail(
        fmt::format("The parallel degrees use {} devices, and there are {}.", w.parallel.DeviceCount(), w.devices));
  if (request.draft && w.draft_tokens == 0)
    return fail("Say how many tokens the draft model proposes in one step: --draft-tokens 4.");
  return {};
}

// Rows of the table of positions, 0: positions have no table.
int64_t LearnedPositions(const ModelDescription& model) {
  if (model.decoder() != nullptr) return model.decoder()->position_count;
  const auto* encoder = std::get_if<EncoderSpec>(&model.step);
  return encoder != nullptr && encoder->text ? encoder->text->position_count : 0;
}

// Pictures are tokens of the sequence.
Status CheckImages(const PlanRequest& request) {
  if (request.model.diffusion && request.model.diffusion->image_tokens == 0 && request.workload.image_tokens > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "A UNet has no tokens: its samples have the configuration's sample_size; change it there.");
  }
  if (!request.model.vision) return {};
  const Workload& w = request.workload;
  const VisionTower& tower = *request.model.vision;
  const int64_t patches = w.image_tokens > 0 ? w.image_tokens : tower.image_tokens;
  const double tokens = static_cast<double>(w.images) * static_cast<double>(patches / tower.patches_per_token);
  if (tokens <= static_cast<double>(w.sequence)) return {};
  return Fail(ErrorCode::kInvalidArgument, fmt::format("{} images of {} tokens do not go into a sequence of {}.",
                                                       w.images, patches / tower.patches_per_token, w.sequence));
}

Status CheckWorkload(const PlanRequest& request) {
  const Workload& w = request.workload;
  const ModelDescription& model = request.model;
  MEMSTRATA_TRY(CheckDegrees(request));
  MEMSTRATA_TRY(CheckUses(request));
  MEMSTRATA_TRY(CheckEngine(request));
  MEMSTRATA_TRY(CheckImages(request));
  double elements = static_cast<double>(w.batch) * static_cast<double>(w.sequence) *
                    static_cast<double>(std::max(model.hidden, model.vocabulary));
  if (model.vision) {
    const int64_t tokens = std::max(w.image_tokens, model.vision->image_tokens);
    elements += static_cast<double>(w.batch) * static_cast<double>(w.images) * static_cast<double>(tokens) *
                static_cast<double>(model.vision->hidden);
  }
  if (model.diffusion) {
    const int64_t tokens = std::max(w.image_tokens, model.diffusion->image_tokens);
    elements += static_cast<double>(w.batch) * model.diffusion->largest.Of(tokens, model.diffusion->text_tokens);
  }
  if (elements > static_cast<double>(kMostSimulatedElements)) {
    return Fail(ErrorCode::kInvalidArgument,
                "Batch x sequence is beyond anything that a device could hold; check both.");
  }
  if (w.task == Task::kServe && model.cache.empty() && (model.hidden > 0 || model.diffusion)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "Serving sessions needs a model that generates tokens; this one keeps no cache. Plan a batch of it with "
        "--task forward.");
  }
  if (w.task == Task::kGenerate && model.cache.empty() && (model.hidden > 0 || model.diffusion)) {
    return Fail(ErrorCode::kInvalidArgument,
                "Generating tokens needs a model that generates; this one keeps no cache.");
  }
  if (TakesShare(w) && model.max_positions > 0 && w.sequence + w.new_tokens > model.max_positions) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} serves at most the {} positions of the configuration; {} tokens are beyond them.",
                            Name(w.engine), model.max_positions, w.sequence + w.new_tokens));
  }
  const int64_t learned = LearnedPositions(model);
  if (learned > 0 && w.sequence + w.new_tokens > learned) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("The model has {} positions; {} tokens do not go in.", learned, w.sequence + w.new_tokens));
  }
  return {};
}

// Lines inside the framework's allocator err together, so where the peak has bounds as a whole, the device has those
// and the bounds of what is outside.
void Sum(DevicePlan& device) {
  uint64_t low_bytes = 0;
  uint64_t high_bytes = 0;
  uint64_t inside_low_bytes = 0;
  uint64_t inside_high_bytes = 0;
  for (const Line& line : device.lines) {
    const bool is_outside = IsOutside(line);
    device.total_bytes += line.bytes;
    (is_outside ? low_bytes : inside_low_bytes) += line.low_bytes;
    (is_outside ? high_bytes : inside_high_bytes) += line.high_bytes;
  }
  const bool is_whole = !device.peak_spread.empty();
  device.low_bytes = low_bytes + (is_whole ? device.framework_peak_low_bytes : inside_low_bytes);
  device.high_bytes = high_bytes + (is_whole ? device.framework_peak_high_bytes : inside_high_bytes);
}

bool IsAssetsAlone(const PlanRequest& request) {
  return request.model.parameter_count == 0 && !request.workload.assets.empty();
}

std::vector<DevicePlan> MakeDevices(const PlanRequest& request) {
  const Workload& w = request.workload;
  std::vector<DevicePlan> devices;
  if (IsAssetsAlone(request)) {
    devices.emplace_back();
    AddOutsideLines(request, devices.back());
  } else if (CanSimulate(request.model, request.workload)) {
    devices.push_back(SimulateDevice(request));
  } else if (IsNearSimulation(request)) {
    devices.push_back(NearSimulatedDevice(request));
  } else if (w.task == Task::kServe) {
    for (int64_t stage = 0; stage < w.parallel.pipeline; ++stage) devices.push_back(ServingDevice(request, stage));
  } else if (w.task == Task::kTrain) {
    for (int64_t stage = 0; stage < w.parallel.pipeline; ++stage)
      devices.push_back(ShardedTrainingDevice(request, stage));
  } else {
    devices.push_back(InferenceDevice(request));
  }
  for (const Asset& asset : w.assets) {
    for (DevicePlan& device : devices) {
      device.lines.push_back(
          {"asset", asset.bytes, asset.bytes, asset.bytes, Basis::kAssumed, asset.name, "given", true, "asset"});
    }
  }
  for (DevicePlan& device : devices) {
    if (request.profile) ApplyProfile(*request.profile, device);
    if (!request.model.assumed_structure.empty()) WidenToAssumed(device);
    Sum(device);
  }
  return devices;
}

// Of a number of parameters, or the sum of a weights file.
Line FloorLine(const PlanRequest& request) {
  const Parallel& p = request.workload.parallel;
  const int64_t devices = p.tensor * p.pipeline * (p.sharding == Sharding::kZero3 ? p.data : 1);
  const double bits = BitsPerWeight(request.workload.weight_format, request.workload.precision);
  const bool is_file = request.model.stored_weight_bytes.has_value();
  const double whole = is_file ? static_cast<double>(*request.model.stored_weight_bytes)
                               : static_cast<double>(request.model.parameter_count) * bits / 8.0;
  const auto bytes = static_cast<uint64_t>(whole / static_cast<double>(devices));
  std::string how = is_file ? "sum of the file's tensors by their own types"
                            : fmt::format("{} parameters x {} bits", request.model.parameter_count, bits);
  const bool is_mix = !is_file && IsGgufMix(request.workload.weight_format);
  if (is_mix) how += ", as llama.cpp's file of Llama 3.1 8B";
  if (devices > 1) how += fmt::format(" / {} devices", devices);
  return {"weights",
          bytes,
          bytes,
          bytes,
          is_mix ? Basis::kAssumed : Basis::kComputed,
          std::move(how),
          is_file  ? "the file's header"
          : is_mix ? "README of llama.cpp's quantizer"
                   : "definition of the number format",
          true,
          "precision, weights, parallel"};
}

// Weights alone: may answer no or "cannot tell", never yes.
Plan FloorPlan(const PlanRequest& request) {
  Plan plan;
  plan.model = request.model;
  plan.workload = request.workload;
  DevicePlan device;
  device.lines.push_back(FloorLine(request));
  const uint64_t bytes = device.lines.front().bytes;
  device.states.parameters = bytes;
  device.framework_peak_bytes = device.framework_peak_low_bytes = device.framework_peak_high_bytes = bytes;
  plan.devices.push_back(std::move(device));
  Sum(plan.devices.back());
  plan.left_out = {"gradients", "optimizer states", "activations",           "logits",
                   "KV cache",  "workspaces",       "context of the driver", "fragmentation"};
  plan.verdict = "This is a floor, weights alone: it can rule a card out, never in.";
  for (const std::string& note : request.model.notes) plan.diagnostics.push_back({"warning", "assumed_model", note});
  if (!request.card) return plan;
  Target target;
  target.card = *request.card;
  target.usable_bytes = request.card->visible_bytes;
  target.margin_bytes = static_cast<int64_t>(target.usable_bytes) - static_cast<int64_t>(bytes);
  if (target.margin_bytes < 0) {
    plan.fits = false;
    plan.verdict = fmt::format("Does not fit on {}: the weights alone need {} more than it has.", request.card->name,
                               FormatBytes(-target.margin_bytes));
  }
  target.unsupported = UnsupportedFormats(*request.card, request.workload);
  if (plan.fits != false && !target.unsupported.empty()) {
    plan.fits = false;
    plan.verdict = fmt::format("{} has room for the weights, but does not compute in {}.", request.card->name,
                               target.unsupported.front());
  }
  plan.target = std::move(target);
  return plan;
}

// Defaults that depend on the model. What was given is never changed.
std::vector<Diagnostic> FillDefaults(PlanRequest& request) {
  Workload& w = request.workload;
  const ModelDescription& model = request.model;
  std::vector<Diagnostic> assumed;
  for (const int64_t most : {model.max_positions, LearnedPositions(model) - w.new_tokens}) {
    if (!w.given.contains("sequence") && most > 0) w.sequence = std::min(w.sequence, most);
  }
  // Generation asks for the scores of the prompt's last token alone.
  if (w.task == Task::kGenerate && !w.given.contains("logits-to-keep")) w.logits_to_keep = 1;
  // Training in full is of weights in the precision, whatever format they are read from.
  const bool keeps_format = w.task != Task::kTrain || w.TrainsAdapters();
  if (!w.given.contains("weights") && model.stored_format && keeps_format) {
    const std::string_view format = Name(*model.stored_format);
    const bool holds = HoldsWeights(w.engine, *model.stored_format);
    if (holds) w.weight_format = *model.stored_format;
    assumed.push_back(
        {holds ? "info" : "warning", "stored_format",
         holds
             ? fmt::format("The configuration says that the weights are kept as {}.", format)
             : fmt::format("The configuration says that the weights are kept as {}, which {} does not read; a file in "
                           "{} is assumed (--weights q8_0, q4_k_m and so on).",
                           format, Name(w.engine), Name(w.precision))});
  }
  const bool is_long = model.max_positions > 0 && w.sequence + w.new_tokens > model.max_positions;
  if (is_long && LearnedPositions(model) == 0) {
    assumed.push_back({"warning", "beyond_positions",
                       fmt::format("The configuration is for {} positions; {} tokens are beyond them.",
                                   model.max_positions, w.sequence + w.new_tokens)});
  }
  const bool has_free_images = model.vision && w.images > 0 && w.image_tokens == 0 && model.vision->image_tokens == 0;
  if (has_free_images) {
    w.image_tokens = std::min(static_cast<int64_t>(GetConstant("usual_image_patches").best),
                              std::max<int64_t>(1, w.sequence * model.vision->patches_per_token / w.images));
    assumed.push_back({"warning", "assumed_images",
                       fmt::format("Images of this model have no fixed size; {} patches of one are assumed "
                                   "(--image-tokens).",
                                   w.image_tokens)});
  }
  return assumed;
}

void Explain(const PlanRequest& request, Plan& plan) {
  if (!request.model.assumed_structure.empty())
    plan.diagnostics.push_back(
        {"warning", "assumed_structure", fmt::format("The structure is a guess: {}", request.model.assumed_structure)});
  for (const std::string& note : request.model.notes) plan.diagnostics.push_back({"warning", "assumed_model", note});
  if (!request.model.unknown_keys.empty()) {
    std::string keys;
    for (const std::string& key : request.model.unknown_keys) keys += (keys.empty() ? "" : ", ") + key;
    plan.diagnostics.push_back(
        {"info", "unused_keys", fmt::format("Keys of the configuration that the plan does not use: {}.", keys)});
  }
  if (!CanSimulate(request.model, request.workload) && request.workload.engine == Engine::kTorch &&
      request.workload.task != Task::kServe) {
    plan.diagnostics.push_back(
        {"info", "closed_form",
         "This case is planned by closed forms, not by a simulated step; its bounds are wider."});
  }
  const bool is_split_by_compiler = request.workload.is_compiled && request.workload.engine == Engine::kTorch &&
                                    request.workload.parallel.DeviceCount() > 1;
  if (is_split_by_compiler) {
    plan.diagnostics.push_back(
        {"info", "compiled_in_parts",
         "On several devices the compiler makes a graph of each bucket or layer, not one of the whole step; what these "
         "keep for their backward besides is not in the plan."});
  }
  if (request.card && IsWeightOnly(*request.card, request.workload)) {
    plan.diagnostics.push_back(
        {"info", "weight_only",
         fmt::format("{} does not multiply in {}: the engine's kernels unpack the weights on their way to {} products. "
                     "Memory is as planned, the format's speed is not there.",
                     request.card->name, Name(request.workload.weight_format), Name(request.workload.precision))});
  }
  if (request.profile) {
    const Profile& profile = *request.profile;
    const bool is_other = request.card && !profile.device.empty() && profile.device != request.card->id;
    plan.diagnostics.push_back(
        {is_other ? "warning" : "info", is_other ? "profile_of_other_device" : "profile",
         fmt::format("Corrected by {}: {} sessions with {} {} on {}.", profile.name, profile.session_count,
                     profile.engine, profile.engine_version.empty() ? "of unknown version" : profile.engine_version,
                     profile.device)});
  }
  plan.left_out = {"memory of other processes on the device"};
  if (request.workload.task == Task::kTrain) {
    plan.left_out.push_back("evaluation and checkpointing in between steps");
    if (request.workload.data_bytes == 0) plan.left_out.push_back("the data set on disk (--data SIZE)");
    if (request.workload.data_workers == 0)
      plan.left_out.push_back("processes that read and decode data (--data-workers N)");
  }
  if (request.workload.is_compiled) plan.left_out.push_back("buffers of the compiler's autotuning");
}

}  // namespace

bool IsFloor(const ModelDescription& model) {
  return model.parameter_count > 0 && model.hidden == 0 && !model.diffusion;
}

std::string_view Name(Basis basis) {
  switch (basis) {
    case Basis::kComputed:
      return "computed";
    case Basis::kMeasured:
      return "measured";
    case Basis::kAssumed:
      return "assumed";
  }
  return "assumed";
}

const DevicePlan& Plan::WorstDevice() const {
  return *std::max_element(devices.begin(), devices.end(),
                           [](const DevicePlan& a, const DevicePlan& b) { return a.total_bytes < b.total_bytes; });
}

PlanRequest TrialOf(const PlanRequest& request) {
  PlanRequest trial = request;
  trial.searches_largest = trial.suggests_changes = false;
  trial.simulations.reset();
  return trial;
}

Result<Plan> MakePlan(PlanRequest request) {
  const std::vector<Diagnostic> assumed = FillDefaults(request);
  if (IsFloor(request.model)) return FloorPlan(request);
  MEMSTRATA_TRY(CheckWorkload(request));
  Plan plan;
  plan.model = request.model;
  plan.workload = request.workload;
  plan.devices = MakeDevices(request);
  Judge(request, plan);
  AddHost(request.profile, plan);
  AddStorage(plan);
  if (!request.model.assumed_structure.empty()) {
    WidenToAssumed(plan.host_lines);
    WidenToAssumed(plan.storage_lines);
  }
  if (request.workload.task == Task::kServe && request.model.assumed_structure.empty()) {
    for (const DevicePlan& device : plan.devices) {  // the stage with the least room decides
      const std::optional<CachePool> pool = PoolOf(request, device);
      if (pool) plan.kv_tokens = std::min(plan.kv_tokens.value_or(pool->tokens), pool->tokens);
    }
  }
  if (IsAssetsAlone(request)) {
    plan.left_out = {"what the program allocates besides the assets that were named", "frame buffers and swap chains",
                     "memory of other processes on the device"};
    return plan;
  }
  if (request.suggests_changes) plan.strategies = FindStrategies(request);
  if (request.searches_largest && request.card && request.model.assumed_structure.empty())
    plan.largest = FindLargest(request);
  Explain(request, plan);
  plan.diagnostics.insert(plan.diagnostics.end(), assumed.begin(), assumed.end());
  if (plan.fits == false && request.suggests_changes) plan.changes = SuggestChanges(request, plan);
  return plan;
}

}  // namespace memstrata::plan
