#include "plan/serving.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/constants.h"
#include "plan/judge.h"
#include "plan/kv_cache.h"
#include "plan/outside.h"
#include "plan/sharded_states.h"

namespace memstrata::plan {
namespace {

bool HasGraphs(Engine engine) { return engine == Engine::kVllm || engine == Engine::kSglang; }

void Add(DevicePlan& device, Line line) {
  device.framework_peak_bytes += line.bytes;
  device.framework_peak_low_bytes += line.low_bytes;
  device.framework_peak_high_bytes += line.high_bytes;
  device.lines.push_back(std::move(line));
}

Line FromConstant(std::string term, std::string_view name, double factor, std::string how) {
  const Constant& constant = GetConstant(name);
  return {std::move(term),
          static_cast<uint64_t>(constant.best * factor),
          static_cast<uint64_t>(constant.low * factor),
          static_cast<uint64_t>(constant.high * factor),
          Basis::kAssumed,
          std::move(how),
          constant.source,
          true,
          "batched-tokens"};
}

}  // namespace

namespace {

void AddWeights(const ModelDescription& model, const PlanRequest& request, int64_t stage, const char* term,
                DevicePlan& device) {
  const Workload& w = request.workload;
  const RankParameters rank = ParametersOfRank(model, w, stage);
  const StateSizes sizes = SizesOfStates(model, rank, w);
  const int64_t devices = w.parallel.tensor * w.parallel.pipeline;
  uint64_t weights = sizes.weight_bytes;
  std::string how = fmt::format("{:.6g} B x {} of {} parameters on one device", sizes.weight_each, rank.Total(),
                                model.parameter_count);
  if (UsesStoredWeights(model, w)) {
    weights = *model.stored_weight_bytes / static_cast<uint64_t>(devices);
    how = fmt::format("sum of the file's tensors by their own types / {} devices", devices);
  }
  const uint64_t table = stage == 0 && KeepsTableInHost(w, request.card) ? TokenTableBytes(model, w) : 0;
  if (table > 0 && table <= weights) {
    weights -= table;
    how += fmt::format(", without {} B of the table of tokens, which stays in host memory", table);
  }
  device.states.parameters += weights;
  Add(device, {term, weights, weights, weights, Basis::kComputed, how, "the model's tensors", true,
               "weights, precision, parallel"});
}

// What the layers of a stage keep.
std::vector<CacheLayer> CacheOfStage(const ModelDescription& model, const Parallel& parallel, int64_t stage) {
  const auto [first, end] = StageLayers(static_cast<int64_t>(model.cache.size()), stage, parallel);
  return {model.cache.begin() + first, model.cache.begin() + end};
}

// Sessions are spread over the replicas; the fullest one has them rounded up.
int64_t SessionsOfReplica(const Workload& w) { return (w.concurrency + w.parallel.data - 1) / w.parallel.data; }

// The tokens that a draft proposes have their keys and values kept until they are checked.
void AddCache(const ModelDescription& model, const Workload& w, int64_t stage, const char* term, DevicePlan& device) {
  if (model.cache.empty()) return;
  const CacheLayout layout = LayoutOf(w);
  const int64_t tokens = w.sequence + w.new_tokens + w.draft_tokens;
  const uint64_t each = SequenceCacheBytes(CacheOfStage(model, w.parallel, stage), tokens, layout);
  const int64_t sessions = SessionsOfReplica(w);
  const uint64_t bytes = each * static_cast<uint64_t>(sessions);
  device.states.kv_cache += bytes;
  std::string how = fmt::format("{} session(s) x {} B for {} tokens", sessions, each, tokens);
  if (layout.page_tokens > 1) how += fmt::format(" in pages of {}", layout.page_tokens);
  if (layout.context_parallel > 1) how += fmt::format(", shared by {} ranks", layout.context_parallel);
  if (w.parallel.data > 1) how += fmt::format("; {} session(s) on {} replicas", w.concurrency, w.parallel.data);
  Add(device,
      {term, bytes, bytes, bytes, Basis::kComputed, std::move(how),
       "cache of each layer kind, docs/explanation/planning.md", false, "concurrency, sequence, kv-bits, parallel"});
}

// Peak of one step: of llama.cpp its compute buffer, of the others what a dummy step was seen to take.
Line StepLine(const ModelDescription& model, const Workload& w) {
  if (w.engine == Engine::kLlamaCpp) {
    const auto wide = static_cast<double>(model.vocabulary + model.hidden);
    const double bytes = 4 * static_cast<double>(kLlamaCppBatchTokens) * wide;
    Line line = FromConstant("activations", "llama_cpp_compute", bytes,
                             fmt::format("4 B x {} tokens of a batch x ({} words + {} hidden)", kLlamaCppBatchTokens,
                                         model.vocabulary, model.hidden));
    line.changed_by = "llama.cpp's --ubatch-size";
    return line;
  }
  const double width = static_cast<double>(model.hidden) / 4096.0;
  const double tokens = static_cast<double>(w.batched_tokens) / 8192.0;
  return FromConstant("activations", "serving_activation_bytes", width * tokens,
                      fmt::format("for hidden {} and {} tokens in one step", model.hidden, w.batched_tokens));
}

}  // namespace

bool KeepsTableInHost(const Workload& workload, const std::optional<Card>& card) {
  const bool is_shared = card && card->vendor == "apple";  // one memory for both
  return workload.engine == Engine::kLlamaCpp && workload.task == Task::kServe && !is_shared;
}

DevicePlan ServingDevice(const PlanRequest& request, int64_t stage) {
  const Workload& w = request.workload;
  const ModelDescription& model = request.model;
  DevicePlan device;
  device.stage = stage;
  device.rank = stage * w.parallel.StageDeviceCount();
  AddWeights(model, request, stage, "weights", device);
  AddCache(model, w, stage, "kv_cache", device);
  if (request.draft) {
    AddWeights(*request.draft, request, stage, "draft_weights", device);
    AddCache(*request.draft, w, stage, "draft_kv_cache", device);
  }
  if (model.hidden > 0) {
    Add(device, StepLine(model, w));
    if (HasGraphs(w.engine) && UsesCuda(request.card))
      Add(device, FromConstant("graphs", "serving_graph_bytes", static_cast<double>(model.layer_count),
                               fmt::format("CUDA graphs of {} layers", model.layer_count)));
  }
  if (UsesCuda(request.card)) Add(device, WorkspaceLine(request));
  device.framework_reserved_bytes = device.framework_peak_bytes;
  device.peak_phase = "prefill";
  AddOutsideLines(request, device);
  return device;
}

namespace {

// Bytes of a token on one device. Where some layers do not grow with each token, those of the given sequence count.
double CacheEach(const PlanRequest& request, int64_t stage) {
  const Workload& w = request.workload;
  const CacheLayout layout = LayoutOf(w);
  double bytes = 0;
  for (const ModelDescription* model : {&request.model, request.draft ? &*request.draft : nullptr}) {
    if (model == nullptr) continue;
    const std::vector<CacheLayer> layers = CacheOfStage(*model, w.parallel, stage);
    bytes +=
        HasOneKind(layers)
            ? static_cast<double>(CacheBytesPerToken(layers, layout)) / static_cast<double>(layout.context_parallel)
            : static_cast<double>(SequenceCacheBytes(layers, w.sequence, layout)) / static_cast<double>(w.sequence);
  }
  return bytes;
}

}  // namespace

std::optional<CachePool> PoolOf(const PlanRequest& request, const DevicePlan& device) {
  if (!request.card || request.model.cache.empty()) return std::nullopt;
  const double each = CacheEach(request, device.stage);
  if (each == 0) return std::nullopt;
  uint64_t best = 0;
  uint64_t low = 0;
  uint64_t high = 0;
  for (const Line& line : device.lines) {
    if (line.term.ends_with("kv_cache") || line.term == "graphs")
      continue;  // graphs are captured after the cache is made
    best += line.bytes;
    low += line.low_bytes;
    high += line.high_bytes;
  }
  const uint64_t usable = UsableBytes(request);
  const auto rest = [usable](uint64_t others) { return usable > others ? usable - others : 0; };
  const CacheLayout layout = LayoutOf(request.workload);
  const int64_t page = layout.page_tokens * layout.context_parallel;
  const auto tokens = static_cast<int64_t>(static_cast<double>(rest(best)) / each) / page * page;
  return CachePool{rest(best), rest(high), rest(low), tokens};
}

}  // namespace memstrata::plan
