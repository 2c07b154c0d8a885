#include "plan/serving.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/constants.h"
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

DevicePlan ServingDevice(const PlanRequest& request) {
  const Workload& w = request.workload;
  const ModelDescription& model = request.model;
  DevicePlan device;
  const StateSizes sizes = SizesOfStates(model, ParametersOfRank(model, w, 0), w);
  uint64_t weights = sizes.weight_bytes;
  std::string how = fmt::format("{} B x {} parameters / {} devices", sizes.weight_each, model.parameter_count,
                                w.parallel.tensor * w.parallel.pipeline);
  if (model.stored_weight_bytes) {
    weights = *model.stored_weight_bytes / static_cast<uint64_t>(w.parallel.tensor * w.parallel.pipeline);
    how = fmt::format("sum of the file's tensors by their own types / {} devices",
                      w.parallel.tensor * w.parallel.pipeline);
  }
  device.states.parameters = weights;
  Add(device, {"weights", weights, weights, weights, Basis::kComputed, how, "the model's tensors", true,
               "weights, precision, parallel"});
  if (!model.cache.empty()) {
    const CacheLayout layout = LayoutOf(w);
    const uint64_t each = SequenceCacheBytes(model, w.sequence, layout) / static_cast<uint64_t>(w.parallel.pipeline);
    const uint64_t bytes = each * static_cast<uint64_t>(w.concurrency);
    device.states.kv_cache = bytes;
    Add(device,
        {"kv_cache", bytes, bytes, bytes, Basis::kComputed,
         fmt::format("{} sessions x {} B for {} tokens in pages of {}", w.concurrency, each, w.sequence,
                     layout.page_tokens),
         "cache of each layer kind, docs/explanation/planning.md", false, "concurrency, sequence, kv-bits, parallel"});
  }
  const double width = static_cast<double>(model.hidden) / 4096.0;
  if (model.hidden > 0) {
    const double tokens = static_cast<double>(w.batched_tokens) / 8192.0;
    Add(device, FromConstant("activations", "serving_activation_bytes", width * tokens,
                             fmt::format("for hidden {} and {} tokens in one step", model.hidden, w.batched_tokens)));
    if (HasGraphs(w.engine))
      Add(device,
          FromConstant("graphs", "serving_graph_bytes", width, fmt::format("CUDA graphs, hidden {}", model.hidden)));
  }
  Add(device, WorkspaceLine(request));
  device.framework_reserved_bytes = device.framework_peak_bytes;
  device.peak_phase = "prefill";
  AddOutsideLines(request, device);
  return device;
}

std::optional<CachePool> PoolOf(const PlanRequest& request, const DevicePlan& device) {
  if (!request.card || request.model.cache.empty()) return std::nullopt;
  const uint64_t each = CacheBytesPerToken(request.model, LayoutOf(request.workload)) /
                        static_cast<uint64_t>(request.workload.parallel.pipeline);
  if (each == 0) return std::nullopt;
  uint64_t best = 0;
  uint64_t low = 0;
  uint64_t high = 0;
  for (const Line& line : device.lines) {
    if (line.term == "kv_cache" || line.term == "graphs") continue;  // graphs are captured after the cache is made
    best += line.bytes;
    low += line.low_bytes;
    high += line.high_bytes;
  }
  const double visible = static_cast<double>(request.card->visible_bytes);
  const auto usable = static_cast<uint64_t>(visible * request.workload.memory_fraction);
  const auto rest = [usable](uint64_t others) { return usable > others ? usable - others : 0; };
  return CachePool{rest(best), rest(high), rest(low), static_cast<int64_t>(rest(best) / each)};
}

}  // namespace memstrata::plan
