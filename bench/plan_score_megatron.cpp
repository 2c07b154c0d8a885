#include <algorithm>
#include <cmath>

#include "plan/model/config_json.h"
#include "plan_score.h"

namespace memstrata::bench {
namespace {

using plan::ConfigJson;
using plan::DecoderSpec;
using plan::PlanRequest;

constexpr int64_t kGpt2Vocabulary = 50257;  // Megatron's default tokenizer
constexpr int64_t kBertVocabulary = 30522;
constexpr int64_t kT5Vocabulary = 30522;  // its T5 tests use BERT's word pieces and extra ids

int64_t Whole(const ConfigJson& arguments, std::string_view key, int64_t otherwise) {
  return arguments.Integer(key, otherwise).value_or(otherwise);
}

bool Is(const ConfigJson& arguments, std::string_view key) { return arguments.Flag(key, false); }

int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

std::string KindOf(const CsvRow& row) { return Cell(row, "file").substr(0, Cell(row, "file").find('/')); }

std::string OutOfScope(const CsvRow& row, const ConfigJson& arguments) {
  if (Cell(row, "quality") != "current") return "not the current golden value";
  if (Cell(row, "gpus").empty()) return "no GPU count, so no data-parallel degree";
  if (Cell(row, "kind") == "rl") return "reinforcement learning: generation and training share the device";
  if (KindOf(row) == "hybrid" || arguments.Has("hybrid-layer-pattern")) return "state-space layers";
  if (KindOf(row) == "mimo" || KindOf(row).starts_with("multimodal"))
    return "a vision tower that the arguments do not describe";
  if (Cell(row, "hidden_size").empty()) return "no model: the arguments give no hidden size";
  return "";
}

int64_t PaddedVocabulary(const ConfigJson& arguments, const std::string& kind, int64_t tensor) {
  int64_t words = kind == "bert" ? kBertVocabulary : kind == "t5" ? kT5Vocabulary : kGpt2Vocabulary;
  if (arguments.Has("vocab-size")) words = Whole(arguments, "vocab-size", words) + 1;  // and the end of a document
  words += Whole(arguments, "vocab-extra-ids", 0);
  return RoundUp(words, Whole(arguments, "make-vocab-size-divisible-by", 128) * tensor);
}

// "([0]*3+[1]*12)": three layers without experts, then twelve with them.
int64_t DenseLayers(const std::string& text) {
  constexpr std::string_view kPrefix = "([0]*";
  return text.starts_with(kPrefix) ? std::atoll(text.c_str() + kPrefix.size()) : 0;
}

void SetExperts(const ConfigJson& arguments, DecoderSpec& spec) {
  spec.experts.count = Whole(arguments, "num-experts", 0);
  if (spec.experts.count == 0) return;
  spec.experts.per_token = Whole(arguments, "moe-router-topk", 2);
  spec.experts.intermediate = Whole(arguments, "moe-ffn-hidden-size", spec.intermediate);
  spec.experts.shared_intermediate = Whole(arguments, "moe-shared-expert-intermediate-size", 0);
  spec.experts.is_gated = spec.is_gated;
  spec.experts.first_dense_layers = DenseLayers(arguments.Text("moe-layer-freq").value_or(""));
  spec.prediction_layers = Whole(arguments, "mtp-num-layers", 0);
}

void SetLatentAttention(const ConfigJson& arguments, DecoderSpec& spec) {
  if (!Is(arguments, "multi-latent-attention")) return;
  spec.latent.query_rank = Whole(arguments, "q-lora-rank", 0);
  spec.latent.kv_rank = Whole(arguments, "kv-lora-rank", 32);
  spec.latent.nope_dim = Whole(arguments, "qk-head-dim", 128);
  spec.latent.rope_dim = Whole(arguments, "qk-pos-emb-head-dim", 64);
  spec.latent.value_dim = Whole(arguments, "v-head-dim", 128);
}

DecoderSpec SpecOf(const CsvRow& row, const ConfigJson& arguments, const std::string& kind, int64_t tensor) {
  DecoderSpec spec;
  spec.model_type = "megatron_" + kind;
  spec.hidden = Whole(arguments, "hidden-size", 0);
  spec.layer_count = Whole(arguments, "num-layers", 0);
  spec.heads = Whole(arguments, "num-attention-heads", 1);
  spec.kv_heads =
      Is(arguments, "group-query-attention") ? Whole(arguments, "num-query-groups", spec.heads) : spec.heads;
  spec.head_dim = Whole(arguments, "kv-channels", spec.hidden / std::max<int64_t>(1, spec.heads));
  spec.is_gated = Is(arguments, "swiglu") || Is(arguments, "quick-geglu");
  const int64_t gated_width = spec.hidden * 8 / 3 / 64 * 64;
  spec.intermediate = Whole(arguments, "ffn-hidden-size", spec.is_gated ? gated_width : 4 * spec.hidden);
  spec.norm = arguments.Text("normalization").value_or("LayerNorm") == "RMSNorm" ? plan::NormKind::kRms
                                                                                 : plan::NormKind::kLayer;
  spec.norm_has_bias = spec.norm == plan::NormKind::kLayer;
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = !Is(arguments, "disable-bias-linear");
  spec.vocabulary = PaddedVocabulary(arguments, kind, tensor);
  spec.embedding_width = spec.hidden;
  spec.ties_head = Cell(row, "untie_embeddings_and_output_weights") != "true";  // in a column, not in the arguments
  const std::string positions = arguments.Text("position-embedding-type").value_or("learned_absolute");
  if (positions == "learned_absolute") spec.position_count = Whole(arguments, "max-position-embeddings", 1024);
  spec.attention_dropout = arguments.Number("attention-dropout").value_or(0.1);
  spec.residual_dropout = arguments.Number("hidden-dropout").value_or(0.1);
  SetExperts(arguments, spec);
  SetLatentAttention(arguments, spec);
  return spec;
}

// The text with "x*3" and "(x|)*3" written out.
std::string WriteOut(std::string text) {
  for (size_t star = text.find('*'); star != std::string::npos; star = text.find('*')) {
    const bool is_group = star > 0 && text[star - 1] == ')';
    const size_t first = is_group ? text.rfind('(', star) : star - 1;
    const std::string piece = is_group ? text.substr(first + 1, star - first - 2) : text.substr(first, 1);
    size_t end = star + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    std::string repeated;
    for (int64_t i = 0; i < std::atoll(text.c_str() + star + 1); ++i) repeated += piece;
    text.replace(first, end - first, repeated);
  }
  return text;
}

// "Et*3|(tt|)*6L": chunks of layers t in the order in which they run, dealt to the stages in turn.
void SetLayout(const std::string& layout, plan::Parallel& parallel) {
  std::vector<int64_t> layers{0};
  for (const char c : WriteOut(layout)) {
    if (c == 't') ++layers.back();
    if (c == '|') layers.push_back(0);
  }
  const auto stages = static_cast<size_t>(parallel.pipeline);
  parallel.virtual_stages = std::max<int64_t>(1, static_cast<int64_t>(layers.size() / stages));
  for (size_t chunk = 0; chunk < layers.size(); ++chunk) {
    if (chunk % stages == 0) parallel.first_stage_layers += layers[chunk];
    if (chunk % stages == stages - 1) parallel.last_stage_layers += layers[chunk];
  }
}

plan::Parallel ParallelOf(const CsvRow& row, const ConfigJson& arguments, int64_t layer_count) {
  plan::Parallel parallel;
  parallel.tensor = std::max<int64_t>(1, Whole(arguments, "tensor-model-parallel-size", 1));
  parallel.pipeline = std::max<int64_t>(1, Whole(arguments, "pipeline-model-parallel-size", 1));
  parallel.context = std::max<int64_t>(1, Whole(arguments, "context-parallel-size", 1));
  parallel.expert = std::max<int64_t>(1, Whole(arguments, "expert-model-parallel-size", 1));
  parallel.expert_tensor = std::max<int64_t>(1, Whole(arguments, "expert-tensor-parallel-size", parallel.tensor));
  const auto gpus = static_cast<int64_t>(NumberCell(row, "gpus", 1));
  parallel.data = std::max<int64_t>(1, gpus / (parallel.tensor * parallel.pipeline * parallel.context));
  parallel.sequence_parallel = Is(arguments, "sequence-parallel");
  if (Is(arguments, "use-distributed-optimizer")) parallel.sharding = plan::Sharding::kZero1;
  if (Is(arguments, "use-megatron-fsdp")) parallel.sharding = plan::Sharding::kZero3;
  parallel.replicas = std::max<int64_t>(1, Whole(arguments, "num-distributed-optimizer-instances", 1));
  parallel.first_stage_layers = Whole(arguments, "decoder-first-pipeline-num-layers", 0);
  parallel.last_stage_layers = Whole(arguments, "decoder-last-pipeline-num-layers", 0);
  parallel.virtual_group = Whole(arguments, "microbatch-group-size-per-virtual-pipeline-stage", 0);
  parallel.virtual_stages = Whole(arguments, "num-virtual-stages-per-pipeline-rank", 1);
  const int64_t layers_each = Whole(arguments, "num-layers-per-virtual-pipeline-stage", 0);
  if (layers_each > 0) parallel.virtual_stages = std::max<int64_t>(1, layer_count / (parallel.pipeline * layers_each));
  const std::string layout = arguments.Text("pipeline-model-parallel-layout").value_or("");
  if (parallel.pipeline > 1 && !layout.empty()) SetLayout(layout, parallel);
  return parallel;
}

// What Megatron's BERT has behind its layers, on the last stage: a dense layer before the table, a bias for each word,
// and the pooler of the task that tells pairs of sentences apart.
void AddBertHeads(const DecoderSpec& spec, plan::ModelDescription& model) {
  const auto add = [&](const char* name, std::vector<int64_t> shape, plan::Role role) {
    model.parameters.push_back({name, std::move(shape), role, static_cast<int32_t>(spec.layer_count), false});
    model.parameter_count += plan::CountElements(model.parameters.back());
  };
  add("head.dense.weight", {spec.hidden, spec.hidden}, plan::Role::kReplicatedLinear);
  add("head.bias", {spec.vocabulary}, plan::Role::kColumnBias);
  add("pooler.weight", {spec.hidden, spec.hidden}, plan::Role::kReplicatedLinear);
}

PlanRequest RequestOf(const CsvRow& row, const ConfigJson& arguments) {
  PlanRequest request;
  request.searches_largest = request.suggests_changes = false;
  plan::Workload& w = request.workload;
  w.engine = plan::Engine::kMegatron;
  const int64_t tensor = std::max<int64_t>(1, Whole(arguments, "tensor-model-parallel-size", 1));
  const DecoderSpec spec = SpecOf(row, arguments, KindOf(row), tensor);
  w.parallel = ParallelOf(row, arguments, spec.layer_count);
  w.sequence = Whole(arguments, "seq-length", Whole(arguments, "encoder-seq-length", 512));
  w.given.insert("sequence");
  w.target_sequence = Whole(arguments, "decoder-seq-length", 0);
  w.batch = Whole(arguments, "micro-batch-size", 1);
  w.accumulation = std::max<int64_t>(1, Whole(arguments, "global-batch-size", w.batch) / (w.batch * w.parallel.data));
  w.precision = Is(arguments, "bf16")   ? plan::Precision::kBfloat16
                : Is(arguments, "fp16") ? plan::Precision::kFloat16
                                        : plan::Precision::kFloat32;
  if (arguments.Text("recompute-granularity") == "full") w.recompute = plan::Recompute::kFull;
  if (arguments.Text("recompute-granularity") == "selective") w.recompute = plan::Recompute::kSelective;
  if (Is(arguments, "cross-entropy-loss-fusion")) w.loss = plan::Loss::kFused;
  const std::optional<std::string> backend = arguments.Text("attention-backend");
  w.eager_attention = backend == "unfused" || backend == "local" || arguments.Text("transformer-impl") == "local";
  if (arguments.Text("optimizer") == "sgd") w.optimizer = plan::OptimizerName::kSgdMomentum;
  if (arguments.Text("optimizer") == "muon") w.optimizer = plan::OptimizerName::kMuon;
  if (Is(arguments, "defer-embedding-wgrad-compute"))
    w.deferred_head_gradients = Whole(arguments, "wgrad-deferral-limit", w.accumulation);
  w.groups_experts = Is(arguments, "moe-grouped-gemm");
  w.gathers_tokens = arguments.Text("moe-token-dispatcher-type").value_or("allgather") == "allgather";
  w.is_deterministic = Is(arguments, "deterministic-mode");
  request.model = plan::DescribeDecoder(spec, Cell(row, "file"), "arguments of the test");
  if (KindOf(row) == "bert") AddBertHeads(spec, request.model);
  if (KindOf(row) == "t5") {
    plan::T5Spec t5;
    t5.encoder_layers = Whole(arguments, "encoder-num-layers", Whole(arguments, "num-layers", 12));
    t5.decoder_layers = Whole(arguments, "decoder-num-layers", t5.encoder_layers);
    t5.hidden = spec.hidden;
    t5.intermediate = spec.intermediate;
    t5.heads = spec.heads;
    t5.head_dim = spec.head_dim;
    t5.vocabulary = spec.vocabulary;
    t5.has_bias = spec.mlp_bias;
    t5.position_count = spec.position_count;
    request.model = plan::DescribeT5(t5, Cell(row, "file"), "arguments of the test");
  }
  const std::string& platform = Cell(row, "platform");
  const Result<plan::Card> card = plan::FindCard(platform == "a100"   ? "a100-80g"
                                                 : platform == "h100" ? "h100-80g"
                                                                      : "b200");
  if (card) request.card = *card;
  return request;
}

// The engine's cache is a buffer of a given size; beside it are the 16-bit weights.
void ScoreInference(const ConfigJson& arguments, const PlanRequest& request, ScoredRow& scored) {
  constexpr double kGib = 0x1p30;
  const double buffer = arguments.Number("inference-dynamic-batching-buffer-size-gb").value_or(0) * kGib;
  if (buffer == 0) {
    scored.out_of_scope = "static inference without a cache size in its arguments";
    return;
  }
  PlanRequest inference = request;
  inference.workload.task = plan::Task::kForward;
  // Graphs are captured up to the most tokens of a step (16384 unless it is given), of as many requests, and their
  // pools stay.
  constexpr int64_t kUsualTokens = 256;
  constexpr int64_t kDefaultMostTokens = 16384;
  const bool has_graphs = Is(arguments, "enable-cuda-graph") || arguments.Has("cuda-graph-impl");
  inference.workload.sequence = 1;
  inference.workload.batch =
      has_graphs ? Whole(arguments, "inference-dynamic-batching-max-tokens", kDefaultMostTokens) : kUsualTokens;
  inference.workload.assets.push_back({"cache of the engine", static_cast<uint64_t>(buffer)});
  const Result<plan::Plan> plan = plan::MakePlan(inference);
  if (!plan) {
    scored.out_of_scope = plan.error().message;
    return;
  }
  plan::DevicePlan device = plan->devices.front();
  device.framework_peak_bytes += static_cast<uint64_t>(buffer);
  device.framework_peak_low_bytes += static_cast<uint64_t>(buffer);
  device.framework_peak_high_bytes += static_cast<uint64_t>(buffer * 1.1);
  SetPrediction(device, scored);
}

std::string FamilyOf(const CsvRow& row) {
  const std::string kind = KindOf(row);
  return Cell(row, "kind") == "inference" ? "megatron-inference" : "megatron-" + kind;
}

// What the allocator still holds when a step has ended: states and workspaces.
uint64_t BetweenSteps(const plan::DevicePlan& device) {
  uint64_t bytes = device.states.parameters + device.states.gradients + device.states.optimizer_state;
  for (const plan::Line& line : device.lines) {
    const bool is_kept = line.term.ends_with("workspace") || line.term == "rounding" ||
                         (line.is_persistent && line.term == "communication");
    bytes += is_kept ? line.bytes : 0;
  }
  return bytes;
}

ScoredRow ScoreRow(const CsvRow& row) {
  ScoredRow scored;
  scored.id = Cell(row, "cond_key") + " " + Cell(row, "platform") + " " + Cell(row, "env");
  scored.family = FamilyOf(row);
  scored.group = Cell(row, "cond_key");
  const Result<ConfigJson> arguments = ConfigJson::Parse(Cell(row, "args_json"));
  if (!arguments) {
    scored.out_of_scope = "no arguments";
    return scored;
  }
  scored.out_of_scope = OutOfScope(row, *arguments);
  if (!scored.out_of_scope.empty()) return scored;
  scored.measured_bytes = static_cast<uint64_t>(NumberCell(row, "mem_max_last", 0));
  const PlanRequest request = RequestOf(row, *arguments);
  if (Cell(row, "kind") == "inference") {
    ScoreInference(*arguments, request, scored);
    return scored;
  }
  const Result<plan::Plan> plan = plan::MakePlan(request);
  if (!plan) {
    scored.out_of_scope = plan.error().message;
    return scored;
  }
  const plan::DevicePlan& last = plan->devices.back();  // the log is of the last rank
  SetPrediction(last, scored);
  scored.terms["allocated_between_steps"] = {BetweenSteps(last),
                                             static_cast<uint64_t>(NumberCell(row, "mem_allocated_last", 0))};
  SetNaiveErrors(request, scored);
  return scored;
}

}  // namespace

std::vector<ScoredRow> ScoreMegatron(const std::vector<CsvRow>& rows) {
  std::vector<ScoredRow> scored;
  for (const CsvRow& row : rows) scored.push_back(ScoreRow(row));
  return scored;
}

}  // namespace memstrata::bench
