#include <algorithm>
#include <cctype>
#include <cmath>

#include "plan/kv_cache.h"
#include "plan/request_file.h"
#include "plan/serving.h"
#include "plan_score.h"
#include "plan_score_names.h"

namespace memstrata::bench {
namespace {

using plan::PlanRequest;

constexpr std::string_view kConvolutional[] = {"vgg", "resnet", "xception", "mobilenet", "efficientnet", "inception"};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool Mentions(const CsvRow& row, std::string_view column, std::string_view word) {
  return Lower(Cell(row, column)).find(word) != std::string::npos;
}

// What the model's cache takes, whatever the device: "cache per token", "cache" of so many tokens.
bool IsCacheOfModel(const CsvRow& row) { return Lower(Cell(row, "metric")).starts_with("cache"); }

std::string OutOfScope(const CsvRow& row) {
  for (const std::string_view name : kConvolutional) {
    if (Mentions(row, "model", name)) return "a convolutional network";
  }
  const std::string& mode = Cell(row, "mode");
  if (mode == "op" || mode == "overhead") return "no model: one operation or library alone";
  if (Cell(row, "model").empty() || Mentions(row, "model", "see issue")) return "no model";
  const bool is_known = !FindModelName(Cell(row, "model")).empty();
  if (Cell(row, "hardware").empty() && !(is_known && IsCacheOfModel(row))) return "no hardware";
  if (!is_known) return "a model whose configuration is not built in";
  if (!Cell(row, "hardware").empty() && !FindDevice(Cell(row, "hardware"))) return "a device that is not in the table";
  for (const char* internal : {"activation peak", "non_torch"}) {
    if (Cell(row, "metric").find(internal) != std::string::npos) return "an engine's internal figure";
  }
  return "";
}

double UnitBytes(const std::string& unit) {
  if (unit == "GiB") return 0x1p30;
  if (unit == "MiB") return 0x1p20;
  if (unit == "KiB") return 0x1p10;
  if (unit == "GB" || unit == "G") return 1e9;
  if (unit == "MB") return 1e6;
  return 1;
}

// Sets what was measured, and half of the last digit that the source prints.
void SetMeasured(const CsvRow& row, ScoredRow& scored) {
  const std::string& value = Cell(row, "value");
  const double unit = UnitBytes(Cell(row, "unit"));
  const size_t point = value.find('.');
  const double digits = point == std::string::npos ? 0 : static_cast<double>(value.size() - point - 1);
  scored.measured_bytes = static_cast<uint64_t>(NumberCell(row, "value", 0) * unit);
  scored.resolution_bytes = static_cast<uint64_t>(std::ceil(unit * std::pow(10.0, -digits) / 2));
}

// "FSDP8 TP8 PP8 CP2" → degrees.
void SetParallel(const CsvRow& row, plan::Parallel& parallel) {
  const std::string text = Lower(Cell(row, "parallelism") + " " + Cell(row, "method"));
  const auto degree = [&](std::string_view name) -> int64_t {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const bool starts_word = at == 0 || std::isalpha(static_cast<unsigned char>(text[at - 1])) == 0;
      const int64_t value = std::atoll(text.c_str() + at + name.size());
      if (starts_word && value > 0) return value;
    }
    return 0;
  };
  parallel.tensor = std::max<int64_t>(1, degree("tp"));
  parallel.pipeline = std::max<int64_t>(1, degree("pp"));
  parallel.context = std::max<int64_t>(1, degree("cp"));
  parallel.sequence_parallel = parallel.tensor > 1;
  const int64_t sharded = std::max(degree("fsdp"), degree("zero"));
  if (text.find("fsdp") != std::string::npos) parallel.sharding = plan::Sharding::kZero3;
  const auto gpus = std::max<int64_t>(1, static_cast<int64_t>(NumberCell(row, "gpus", 1)));
  parallel.data =
      sharded > 0 ? sharded : std::max<int64_t>(1, gpus / (parallel.tensor * parallel.pipeline * parallel.context));
  if (Cell(row, "parallelism") == "single" || Cell(row, "mode") == "inference") parallel.data = 1;
}

void SetPrecision(const CsvRow& row, plan::Workload& w) {
  const std::string text = Lower(Cell(row, "precision") + " " + Cell(row, "method"));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("fp32 (") || text.starts_with("fp32")) w.precision = plan::Precision::kFloat32;
  const bool is_mixed = has("fp32 params") || text.starts_with("amp") || has("autocast");
  if (is_mixed || w.engine == plan::Engine::kTorchtitan) w.precision = plan::Precision::kBfloat16Autocast;
  if (w.task == plan::Task::kServe && has("nvfp4")) {
    w.weight_format = plan::WeightFormat::kNvfp4;
  } else if (w.task == plan::Task::kServe && has("fp8")) {
    w.weight_format = plan::WeightFormat::kFp8;
  } else if (w.task == plan::Task::kServe && has("int8")) {
    w.weight_format = plan::WeightFormat::kInt8;
  } else if (has("-dq")) {
    w.weight_format = plan::WeightFormat::kNf4Double;
  } else if (has("nf4") || has("fp4 ") || has("qlora")) {
    w.weight_format = plan::WeightFormat::kNf4;
  } else if (has("llm.int8")) {
    w.weight_format = plan::WeightFormat::kInt8;
  } else if (has("gptq") || has("awq")) {
    w.weight_format = plan::WeightFormat::kInt4Group128;
  }
}

void SetOptimizer(const CsvRow& row, plan::Workload& w) {
  using plan::OptimizerName;
  constexpr std::pair<std::string_view, OptimizerName> kNames[] = {{"8bit", OptimizerName::kAdamW8bit},
                                                                   {"8-bit", OptimizerName::kAdamW8bit},
                                                                   {"fused adam", OptimizerName::kAdamWFused},
                                                                   {"adafactor", OptimizerName::kAdafactorTransformers},
                                                                   {"momentum", OptimizerName::kSgdMomentum},
                                                                   {"sgd", OptimizerName::kSgd},
                                                                   {"lion", OptimizerName::kLion},
                                                                   {"muon", OptimizerName::kMuon}};
  const std::string text = Lower(Cell(row, "optimizer"));
  for (const auto& [word, name] : kNames) {
    if (text.find(word) == std::string::npos) continue;
    w.optimizer = name;
    break;
  }
  const std::string method = text + " " + Lower(Cell(row, "method"));
  if (method.find("offload") != std::string::npos) w.offload = plan::Offload::kOptimizer;
}

void SetMethod(const CsvRow& row, plan::Workload& w) {
  const std::string method = Lower(Cell(row, "method"));
  w.is_compiled = method.find("compile") != std::string::npos;
  const std::string checkpoint = Lower(Cell(row, "act_ckpt"));
  if (checkpoint.find("selective") != std::string::npos || checkpoint.find("sac") != std::string::npos)
    w.recompute = plan::Recompute::kSelective;
  if (checkpoint.find("full") != std::string::npos || checkpoint.find("fsdp script") != std::string::npos)
    w.recompute = plan::Recompute::kFull;
  if (w.task != plan::Task::kTrain) return;
  if (method.find("adapter_v2") != std::string::npos) {
    w.adapter = plan::Adapter::kScaleAndBias;
  } else if (method.find("adapter") != std::string::npos) {
    w.adapter = plan::Adapter::kPrompt;
  } else if (method.find("lora") != std::string::npos) {
    w.lora_rank = 8;  // the trainers' default, on queries and values
    w.lora_targets = {"q_proj", "v_proj", "qkv_proj"};
    w.keeps_frozen_gathered = Mentions(row, "source", "litgpt");  // by FullyShardedDataParallel, of torch 2.1
  }
}

// "vLLM util 0.90": the engine and its share of the device.
void SetServing(const CsvRow& row, plan::Workload& w) {
  w.engine = Mentions(row, "method", "sglang") ? plan::Engine::kSglang : plan::Engine::kVllm;
  const std::string method = Lower(Cell(row, "method"));
  const size_t share = method.find("util");
  if (share != std::string::npos) w.memory_fraction = std::strtod(method.c_str() + share + 4, nullptr);
}

PlanRequest RequestOf(const CsvRow& row) {
  PlanRequest request;
  request.searches_largest = request.suggests_changes = false;
  plan::Workload& w = request.workload;
  const std::string& mode = Cell(row, "mode");
  w.task = mode == "inference" ? plan::Task::kGenerate : mode == "serve" ? plan::Task::kServe : plan::Task::kTrain;
  if (Mentions(row, "source", "torchtitan")) w.engine = plan::Engine::kTorchtitan;
  if (Mentions(row, "source", "megatron")) w.engine = plan::Engine::kMegatron;
  if (Mentions(row, "source", "deepspeed")) w.engine = plan::Engine::kDeepSpeed;
  if (mode == "serve") SetServing(row, w);
  SetParallel(row, w.parallel);
  SetPrecision(row, w);
  SetOptimizer(row, w);
  SetMethod(row, w);
  constexpr double kUsualSequence = 512;  // of encoders and examples that give none
  constexpr double kUsualPrompt = 64;
  w.sequence = static_cast<int64_t>(NumberCell(row, "seq", mode == "inference" ? kUsualPrompt : kUsualSequence));
  w.given.insert("sequence");
  w.batch = std::max<int64_t>(1, static_cast<int64_t>(NumberCell(row, "micro_batch", 1)));
  if (w.parallel.pipeline > 1) {
    w.accumulation = w.parallel.pipeline;
    // torchtitan gives the batch of a rank, which it cuts into as many pieces as there are stages.
    if (w.engine == plan::Engine::kTorchtitan) w.batch = std::max<int64_t>(1, w.batch / w.parallel.pipeline);
  }
  w.use_cache = mode != "finetune";
  if (w.task == plan::Task::kTrain && !w.TrainsAdapters()) w.weight_format = plan::WeightFormat::kAsPrecision;
  request.model = *plan::DescribePreset(FindModelName(Cell(row, "model")));
  if (Mentions(row, "source", "litgpt")) {
    // LitGPT has an own head in every model and PyTorch's own activation functions.
    if (auto* decoder = std::get_if<plan::DecoderSpec>(&request.model.step)) {
      plan::DecoderSpec spec = *decoder;
      spec.ties_head = false;
      spec.activation = plan::ActivationKind::kSavesInput;
      request.model = plan::DescribeDecoder(spec, request.model.name, request.model.source);
    }
  }
  if (const auto* spec = std::get_if<plan::EncoderSpec>(&request.model.step)) {
    w.mask = plan::AttentionMask::kNone;
    if (spec->text) w.sequence = std::min(w.sequence, spec->text->position_count);
  }
  const Result<plan::Card> card = FindDevice(Cell(row, "hardware"));
  if (card) request.card = *card;
  return request;
}

// Tokens that a cache is of: "… @204800", "@1M", "cache per 131072-token sequence", else the column "seq".
int64_t TokensOfCache(const CsvRow& row) {
  const std::string& model = Cell(row, "model");
  const std::string& metric = Cell(row, "metric");
  const size_t at = model.find('@');
  const std::string text = at != std::string::npos            ? model.substr(at + 1)
                           : metric.starts_with("cache per ") ? metric.substr(10)
                                                              : std::string();
  char* end = nullptr;
  const double count = std::strtod(text.c_str(), &end);
  const double unit = *end == 'M' ? 0x1p20 : *end == 'K' ? 0x1p10 : 1;
  return static_cast<int64_t>(count > 0 ? count * unit : NumberCell(row, "seq", 1));
}

bool IsPerToken(const CsvRow& row) {
  const std::string metric = Lower(Cell(row, "metric"));
  return metric.starts_with("cache per") && metric.ends_with("token");
}

void SetCache(const CsvRow& row, const PlanRequest& request, ScoredRow& scored) {
  plan::CacheLayout layout = plan::LayoutOf(request.workload);
  uint64_t bytes = 0;
  if (IsPerToken(row)) {  // what a second token adds, in layers with windows too
    layout.page_tokens = 1;
    layout.groups_layers = false;
    bytes = plan::SequenceCacheBytes(request.model, 2, layout) - plan::SequenceCacheBytes(request.model, 1, layout);
  } else {
    bytes = plan::SequenceCacheBytes(request.model, TokensOfCache(row), layout);
  }
  SetFigures(bytes, bytes, bytes, scored);
}

std::string FamilyOf(const CsvRow& row, const PlanRequest& request) {
  if (IsCacheOfModel(row) || Cell(row, "unit") == "tokens") return "points-cache";
  if (request.workload.task == plan::Task::kServe) return "points-serving";
  if (request.workload.task == plan::Task::kGenerate) return "points-inference";
  if (request.workload.TrainsAdapters()) return "points-lora";
  return Cell(row, "mode") == "train" ? "points-device" : "points-pretrain";
}

// The device's own figure, an engine's line or the framework's peak, as the source measured.
void SetFromMetric(const CsvRow& row, const PlanRequest& request, const plan::DevicePlan& device, ScoredRow& scored) {
  const std::string metric = Lower(Cell(row, "metric"));
  plan::DevicePlan view = device;
  const auto use = [&](uint64_t low, uint64_t best, uint64_t high) {
    view.framework_peak_low_bytes = low;
    view.framework_peak_bytes = best;
    view.framework_peak_high_bytes = high;
  };
  if (metric.find("device used") != std::string::npos) use(device.low_bytes, device.total_bytes, device.high_bytes);
  // torchtitan's log line prints what the allocator reserved.
  if (metric.find("reserved") != std::string::npos || metric.find("logged by torchtitan") != std::string::npos) {
    const double ratio =
        static_cast<double>(device.framework_reserved_bytes) / static_cast<double>(device.framework_peak_bytes);
    use(static_cast<uint64_t>(static_cast<double>(device.framework_peak_low_bytes) * ratio),
        device.framework_reserved_bytes,
        static_cast<uint64_t>(static_cast<double>(device.framework_peak_high_bytes) * ratio));
  }
  for (const char* term : {"weights", "graphs"}) {
    if (request.workload.task != plan::Task::kServe || metric.find(term) == std::string::npos) continue;
    for (const plan::Line& line : device.lines) {
      if (line.term == term) use(line.low_bytes, line.bytes, line.high_bytes);
    }
  }
  const std::optional<plan::CachePool> pool = plan::PoolOf(request, device);
  if (request.workload.task == plan::Task::kServe && metric.find("kv") != std::string::npos && pool) {
    use(pool->low_bytes, pool->bytes, pool->high_bytes);
  }
  if (Cell(row, "unit") == "tokens" && pool && pool->tokens > 0) {  // compared as tokens, whatever a token takes
    const double tokens_per_byte = static_cast<double>(pool->tokens) / static_cast<double>(pool->bytes);
    const auto tokens = [&](uint64_t bytes) {
      return static_cast<uint64_t>(static_cast<double>(bytes) * tokens_per_byte);
    };
    use(tokens(pool->low_bytes), static_cast<uint64_t>(pool->tokens), tokens(pool->high_bytes));
  }
  SetPrediction(view, scored);
}

ScoredRow ScoreRow(const CsvRow& row) {
  ScoredRow scored;
  scored.id = "point " + Cell(row, "id");
  scored.family = "points";
  scored.group = Cell(row, "source") + " " + Cell(row, "model");
  scored.out_of_scope = OutOfScope(row);
  if (!scored.out_of_scope.empty()) return scored;
  const PlanRequest request = RequestOf(row);
  scored.family = FamilyOf(row, request);
  const bool trains_on_text = request.workload.task == plan::Task::kTrain && request.model.vocabulary > 0;
  if (trains_on_text && Cell(row, "seq").empty()) {
    scored.out_of_scope = "no sequence length, so no number of tokens";
    return scored;
  }
  if (IsCacheOfModel(row)) {
    SetMeasured(row, scored);
    SetCache(row, request, scored);
    return scored;
  }
  const Result<plan::Plan> plan = plan::MakePlan(request);
  if (!plan) {
    scored.out_of_scope = plan.error().message;
    return scored;
  }
  const plan::DevicePlan& worst = plan->WorstDevice();
  const bool ran_out = Cell(row, "value") == "OOM";
  if (!ran_out) SetMeasured(row, scored);
  SetFromMetric(row, request, worst, scored);
  if (request.workload.task != plan::Task::kServe) {
    const bool fits = worst.simulation_fits.value_or(plan->target->margin_bytes >= 0);
    scored.fit_is_right = fits != ran_out;
  }
  SetNaiveErrors(request, scored);
  return scored;
}

}  // namespace

std::vector<ScoredRow> ScorePoints(const std::vector<CsvRow>& rows) {
  std::vector<ScoredRow> scored;
  for (const CsvRow& row : rows) scored.push_back(ScoreRow(row));
  return scored;
}

}  // namespace memstrata::bench
