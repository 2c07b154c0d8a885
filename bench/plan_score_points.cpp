#include <algorithm>
#include <cctype>

#include "plan/request_file.h"
#include "plan/serving.h"
#include "plan_score.h"

namespace memstrata::bench {
namespace {

using plan::PlanRequest;

// Part of a name in the table → what it stands for; the first that is found counts.
using NameMap = std::pair<std::string_view, std::string_view>;

constexpr NameMap kModels[] = {{"llama 3.1 405b", "llama-3.1-405b"},
                               {"llama 3.1 70b", "llama-3.1-70b"},
                               {"llama 3 70b", "llama-3.1-70b"},
                               {"llama-3-70b", "llama-3.1-70b"},
                               {"llama-3.1-70b", "llama-3.1-70b"},
                               {"llama-3.3-70b", "llama-3.1-70b"},
                               {"llama 3.1 8b", "llama-3.1-8b"},
                               {"llama 3 8b", "llama-3.1-8b"},
                               {"llama-3-8b", "llama-3.1-8b"},
                               {"llama-3.1-8b", "llama-3.1-8b"},
                               {"llama 2 7b", "llama-2-7b"},
                               {"llama2 7b", "llama-2-7b"},
                               {"llama-2 7b", "llama-2-7b"},
                               {"llama 2 13b", "llama-2-13b"},
                               {"llama 2 70b", "llama-2-70b"},
                               {"codellama 34b", "codellama-34b"},
                               {"phi-1.5", "phi-1.5"},
                               {"stablelm alpha 3b", "stablelm-alpha-3b"},
                               {"falcon 7b", "falcon-7b"},
                               {"falcon 40b", "falcon-40b"},
                               {"qwen3 8b", "qwen3-8b"},
                               {"r1-distill-qwen-14b", "qwen2.5-14b"},
                               {"distill-14b", "qwen2.5-14b"},
                               {"deepseek-v2-lite", "deepseek-v2-lite"},
                               {"v2-lite", "deepseek-v2-lite"},
                               {"bert_base", "bert-base"},
                               {"bert_large", "bert-large"},
                               {"bert-large", "bert-large"},
                               {"gpt2_large", "gpt2-large"},
                               {"gpt2_xl", "gpt2-xl"},
                               {"vit-h", "vit-huge-14"},
                               {"vit_huge", "vit-huge-14"},
                               {"gemma-3-4b", "gemma-3-4b"}};

constexpr NameMap kCards[] = {{"h100 96", "h100-96g"}, {"h200", "h200"},           {"h100", "h100-80g"},
                              {"gb200", "b200"},       {"b200", "b200"},           {"a100 40", "a100-40g"},
                              {"a100-40", "a100-40g"}, {"a100", "a100-80g"},       {"a6000", "48GiB"},
                              {"4090", "rtx4090"},     {"v100", "v100-16g"},       {"4070", "16GiB"},
                              {"l40s", "l40s"},        {"16gb class", "15.77GiB"}, {"178.36", "b200"}};

constexpr std::string_view kConvolutional[] = {"vgg", "resnet", "xception", "mobilenet", "efficientnet", "inception"};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <size_t N>
std::string_view Lookup(const NameMap (&map)[N], const std::string& text) {
  const std::string lower = Lower(text);
  for (const auto& [part, value] : map) {
    if (lower.find(part) != std::string::npos) return value;
  }
  return "";
}

bool Mentions(const CsvRow& row, std::string_view column, std::string_view word) {
  return Lower(Cell(row, column)).find(word) != std::string::npos;
}

std::string OutOfScope(const CsvRow& row) {
  for (const std::string_view name : kConvolutional) {
    if (Mentions(row, "model", name)) return "a convolutional network";
  }
  const std::string& mode = Cell(row, "mode");
  if (mode == "op" || mode == "overhead") return "no model: one operation or library alone";
  if (Cell(row, "model").empty() || Mentions(row, "model", "see issue")) return "no model";
  if (Lookup(kModels, Cell(row, "model")).empty()) return "a model whose configuration is not built in";
  if (Cell(row, "hardware").empty()) return "no hardware";
  if (Lookup(kCards, Cell(row, "hardware")).empty()) return "a device that is not in the table";
  if (Cell(row, "metric").find("activation peak") != std::string::npos) return "an engine's internal figure";
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
  if (has("fp32 params") || w.engine == plan::Engine::kTorchtitan) w.precision = plan::Precision::kBfloat16Autocast;
  if (has("-dq")) {
    w.weight_format = plan::WeightFormat::kNf4Double;
  } else if (has("nf4") || has("fp4 ") || has("qlora")) {
    w.weight_format = plan::WeightFormat::kNf4;
  } else if (has("llm.int8")) {
    w.weight_format = plan::WeightFormat::kInt8;
  } else if (has("gptq") || has("awq")) {
    w.weight_format = plan::WeightFormat::kInt4Group128;
  }
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
  }
}

PlanRequest RequestOf(const CsvRow& row) {
  PlanRequest request;
  request.searches_largest = false;
  plan::Workload& w = request.workload;
  const std::string& mode = Cell(row, "mode");
  w.task = mode == "inference" ? plan::Task::kGenerate : mode == "serve" ? plan::Task::kServe : plan::Task::kTrain;
  if (Mentions(row, "source", "torchtitan")) w.engine = plan::Engine::kTorchtitan;
  if (Mentions(row, "source", "megatron")) w.engine = plan::Engine::kMegatron;
  if (Mentions(row, "source", "deepspeed")) w.engine = plan::Engine::kDeepSpeed;
  if (mode == "serve") w.engine = plan::Engine::kVllm;
  SetParallel(row, w.parallel);
  SetPrecision(row, w);
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
  request.model = *plan::DescribePreset(Lookup(kModels, Cell(row, "model")));
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
  const Result<plan::Card> card = plan::FindCard(Lookup(kCards, Cell(row, "hardware")));
  if (card) request.card = *card;
  return request;
}

std::string FamilyOf(const CsvRow& row, const PlanRequest& request) {
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
  for (const auto& [word, term] : {std::pair{"weights", "weights"}, {"graphs", "graphs"}, {"non_torch", "context"}}) {
    if (request.workload.task != plan::Task::kServe || metric.find(word) == std::string::npos) continue;
    for (const plan::Line& line : device.lines) {
      if (line.term == term) use(line.low_bytes, line.bytes, line.high_bytes);
    }
  }
  const std::optional<plan::CachePool> pool = plan::PoolOf(request, device);
  if (request.workload.task == plan::Task::kServe && metric.find("kv") != std::string::npos && pool) {
    use(pool->low_bytes, pool->bytes, pool->high_bytes);
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
  const Result<plan::Plan> plan = plan::MakePlan(request);
  if (!plan) {
    scored.out_of_scope = plan.error().message;
    return scored;
  }
  const plan::DevicePlan& worst = plan->WorstDevice();
  const bool ran_out = Cell(row, "value") == "OOM";
  if (!ran_out)
    scored.measured_bytes = static_cast<uint64_t>(NumberCell(row, "value", 0) * UnitBytes(Cell(row, "unit")));
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
