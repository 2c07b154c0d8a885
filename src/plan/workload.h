#pragma once
// What the model is asked to do: everything besides the model and the device that decides memory. Each field has a
// default that is a named assumption of the plan when it was not given.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memstrata::plan {

enum class Task : uint8_t { kTrain, kForward, kGenerate, kServe };
enum class Engine : uint8_t { kTorch, kTorchtitan, kMegatron, kDeepSpeed, kVllm, kSglang, kLlamaCpp, kJax };
enum class Precision : uint8_t { kFloat32, kBfloat16, kFloat16, kBfloat16Autocast, kFloat16Autocast };
enum class WeightFormat : uint8_t {
  kAsPrecision,
  kInt8,
  kFp8,
  kNf4,
  kNf4Double,
  kInt4Group128,
  kMxfp4,
  kNvfp4,
  // Mixes of ggml's types that llama.cpp writes into GGUF files: plan/model/gguf_mix.h.
  kQ2K,
  kQ3KS,
  kQ3KM,
  kQ3KL,
  kQ4_0,
  kQ4KS,
  kQ4KM,
  kQ5_0,
  kQ5KS,
  kQ5KM,
  kQ6K,
  kQ8_0,
  kIq1S,
  kIq2Xxs,
  kIq2M,
  kIq3M,
  kIq4Xs
};
/// True for llama.cpp's mixes.
constexpr bool IsGgufMix(WeightFormat format) { return format >= WeightFormat::kQ2K; }
/// Of cached keys and values; the numbers are bits of an element.
enum class CacheFormat : uint8_t {
  k16,
  k32,
  k8,
  k8Scaled,    // and a float32 scale for each token and head
  kFp8Latent,  // latent vectors in 8 bits with a scale for each 128 elements, their rotary part in 16 (FlashMLA)
  kQ8_0,       // llama.cpp's blocks of 32 elements
  kQ5_1,
  kQ5_0,
  kQ4_1,
  kQ4_0,
  kNvfp4,
};
enum class OptimizerName : uint8_t {
  kNone,
  kAdamW,
  kAdamWFused,
  kAdamWForLoop,
  kAdamW8bit,
  kSgd,
  kSgdMomentum,
  kSgdMomentumForLoop,
  kAdafactorTransformers,
  kAdafactorTorch,
  kLion,
  kMuon
};
enum class Recompute : uint8_t { kNone, kSelective, kFull, kFullReentrant };
enum class Loss : uint8_t {
  kPlain,        // scores, then softmax
  kFused,        // one kernel
  kChunked,      // an eighth of the tokens at a time
  kLinearFused,  // the scores are never written out
};
/// What is trained beside frozen weights.
enum class Adapter : uint8_t {
  kLowRank,       // LoRA; with rank 0 the weights themselves are trained
  kScaleAndBias,  // a scale and a bias behind each linear layer, and the norms (LLaMA-Adapter V2)
  kPrompt,        // learned tokens before the keys and values of all but the first two layers (LLaMA-Adapter)
};
enum class AttentionMask : uint8_t { kNone, kOnes, kPadded };
enum class Sharding : uint8_t { kNone, kZero1, kZero2, kZero3 };  // kZero3 is also FSDP's full sharding

/// What is kept in host memory instead of on the device.
enum class Offload : uint8_t { kNone, kOptimizer, kOptimizerAndWeights };

struct Parallel {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t context = 1;
  int64_t expert = 1;
  int64_t expert_tensor = 0;  // ranks that share one expert, 0: see ExpertTensor()
  int64_t data = 1;
  int64_t virtual_stages = 1;
  int64_t virtual_group = 0;       // micro-batches of one round of the interleaved schedule, 0: as many as stages
  int64_t first_stage_layers = 0;  // 0: as evenly as possible
  int64_t last_stage_layers = 0;
  int64_t replicas = 1;  // groups of data-parallel ranks that each hold all shards
  bool sequence_parallel = false;
  Sharding sharding = Sharding::kNone;

  /// Devices of the whole job.
  int64_t DeviceCount() const { return pipeline * StageDeviceCount(); }
  /// Devices of each pipeline stage.
  int64_t StageDeviceCount() const { return tensor * context * data; }
  /// Ranks that share one expert: as given, else as many as share a layer, or one where they do not divide so.
  int64_t ExpertTensor() const {
    if (expert_tensor > 0) return expert_tensor;
    return context * data % expert == 0 ? tensor : 1;
  }
};

/// Memory that is named by the user: scenes, textures, volumes.
struct Asset {
  std::string name;
  uint64_t bytes = 0;
};

struct Workload {
  Task task = Task::kTrain;
  Engine engine = Engine::kTorch;
  int64_t batch = 1;
  int64_t sequence = 2048;
  int64_t target_sequence = 0;
  int64_t new_tokens = 0;
  int64_t images = 1;             // of one sample, for models that see
  int64_t image_tokens = 0;       // of one image in the tower, 0: the model's own
  int64_t concurrency = 1;        // sessions at the same time, of all replicas together (serving)
  int64_t batched_tokens = 8192;  // tokens of one engine step (serving)
  int64_t accumulation = 1;
  Precision precision = Precision::kBfloat16;
  WeightFormat weight_format = WeightFormat::kAsPrecision;
  CacheFormat cache_format = CacheFormat::k16;
  OptimizerName optimizer = OptimizerName::kAdamW;
  Recompute recompute = Recompute::kNone;
  Loss loss = Loss::kPlain;
  bool eager_attention = false;
  AttentionMask mask = AttentionMask::kOnes;
  bool use_cache = true;
  bool keeps_outputs = false;
  bool sets_grads_to_none = true;
  bool clips_gradients = false;
  bool is_compiled = false;
  bool is_deterministic = false;
  bool keeps_frozen_gathered = false;   // adapters beside sharded weights: what is frozen stays whole once gathered
  bool groups_experts = true;           // products of all experts in one kernel
  bool gathers_tokens = true;           // all ranks that share the experts gather each other's tokens
  int64_t deferred_head_gradients = 0;  // micro-batches whose share of the head's gradient waits for a later moment
  int64_t logits_to_keep = 0;
  Adapter adapter = Adapter::kLowRank;
  int64_t lora_rank = 0;
  double lora_dropout = 0;
  std::vector<std::string> lora_targets;
  double memory_fraction = 0.9;  // of the device that a serving engine takes
  Offload offload = Offload::kNone;
  int64_t devices = 0;       // that are there, 0: as many as the degrees use
  int64_t draft_tokens = 0;  // speculative decoding: proposed in one step
  Parallel parallel;
  std::vector<Asset> assets;
  uint64_t data_bytes = 0;                   // of the data set on disk, 0: not given
  int64_t data_workers = 0;                  // processes that read and decode data, for each device
  std::set<std::string, std::less<>> given;  // names of the inputs that were given; the others are assumptions

  bool TrainsAdapters() const { return lora_rank > 0 || adapter != Adapter::kLowRank; }
};

std::string_view Name(Task value);
std::string_view Name(Engine value);
std::string_view Name(Precision value);
std::string_view Name(WeightFormat value);
std::string_view Name(CacheFormat value);
std::string_view Name(OptimizerName value);
std::string_view Name(Recompute value);
std::string_view Name(Loss value);
std::string_view Name(Adapter value);
std::string_view Name(AttentionMask value);
std::string_view Name(Offload value);
std::string_view Name(Sharding value);

/// Sets one input by its name as on the command line ("batch", "precision", "parallel", …).
Status SetInput(Workload& workload, std::string_view name, std::string_view value);
/// The names that SetInput knows, as flags, with one line of help each.
struct InputHelp {
  std::string_view flag;  // "--" and the name
  std::string_view value_name;
  std::string_view help;
};
inline constexpr InputHelp kWorkloadInputs[] = {
    {"--task", "NAME", "What is done: train, forward, generate, serve (default train)"},
    {"--engine", "NAME",
     "What does it: torch, torchtitan, megatron, deepspeed, vllm, sglang, llama.cpp, jax (default torch)"},
    {"--batch", "N", "Samples a device works on at once, the micro-batch (default 1)"},
    {"--sequence", "N", "Tokens of one sample; serving: of the longest request (default 2048)"},
    {"--target-sequence", "N", "Tokens of the decoder in encoder-decoder models (default: as sequence)"},
    {"--new-tokens", "N", "Tokens to generate (default 0)"},
    {"--images", "N", "Images of one sample, for models that see (default 1)"},
    {"--image-tokens", "N", "Patches of one image before they are merged, 0: the model's fixed number (default 0)"},
    {"--concurrency", "N", "Serving: sessions at the same time, of all replicas (dp) together (default 1)"},
    {"--batched-tokens", "N", "Serving: tokens of one engine step (default 8192)"},
    {"--accumulation", "N", "Micro-batches before an optimizer step (default 1)"},
    {"--precision", "NAME", "fp32, bf16, fp16, bf16_autocast, fp16_autocast (default bf16)"},
    {"--weights", "NAME",
     "Format of frozen or served weights: same, int8, fp8, nf4, nf4-dq, int4, mxfp4, nvfp4, or of a GGUF file: q2_k, "
     "q3_k_s, q3_k_m, q3_k_l, q4_0, q4_k_s, q4_k_m, q5_0, q5_k_s, q5_k_m, q6_k, q8_0, iq1_s, iq2_xxs, iq2_m, iq3_m, "
     "iq4_xs (default same)"},
    {"--kv-bits", "FORMAT",
     "Bits of one cached key or value element: 16, 32, 8, 8+scales (a scale for each token and head), fp8_ds_mla "
     "(latent vectors), q8_0, q5_1, q5_0, q4_1, q4_0 (or 8.5, 6, 5.5, 5, 4.5), nvfp4 (default 16)"},
    {"--optimizer", "NAME",
     "none, adamw, adamw_fused, adamw_forloop, adamw_8bit, sgd, sgd_momentum, adafactor_hf, adafactor_torch, lion, "
     "muon (default adamw)"},
    {"--recompute", "NAME", "Activation checkpointing: none, selective, full, full_reentrant (default none)"},
    {"--loss", "NAME", "Kind of the loss: plain, fused, chunked, linear_fused (default plain)"},
    {"--attention", "NAME", "sdpa or eager (default sdpa)"},
    {"--mask", "NAME", "Attention mask that is passed: none, ones, padded (default ones)"},
    {"--use-cache", "YES|NO",
     "Whether the model keeps keys and values, as transformers does by default: yes or no (default yes)"},
    {"--keep-outputs", "YES|NO", "Whether the loop keeps the model's outputs until the next step (default no)"},
    {"--grads-to-none", "YES|NO", "Whether gradients are dropped after the step (default yes)"},
    {"--clip-gradients", "YES|NO", "Whether gradients are clipped (default no)"},
    {"--compile", "YES|NO", "Whether the step is compiled with torch.compile (default no)"},
    {"--deterministic", "YES|NO",
     "Whether products are deterministic, with CUBLAS_WORKSPACE_CONFIG=:4096:8 (default no)"},
    {"--frozen-gathered", "YES|NO",
     "With adapters and zero=3: whether frozen layers stay whole once they are gathered, as in PyTorch's "
     "FullyShardedDataParallel, which lets go of a layer when its gradients come (default no)"},
    {"--grouped-experts", "YES|NO",
     "Whether the products of a rank's experts run as one grouped product, on streams of their own (default yes)"},
    {"--gathered-tokens", "YES|NO",
     "Whether all ranks that share the experts gather each other's tokens, as Megatron's allgather dispatcher does "
     "(default yes)"},
    {"--deferred-head-gradients", "N",
     "Micro-batches whose part of the head's gradient is computed later, as Megatron can (default 0)"},
    {"--logits-to-keep", "N", "Positions whose logits are computed, 0: all (default 0)"},
    {"--adapter", "NAME",
     "What is trained beside frozen weights: lora (with --lora-rank), scale_bias, prompt (default lora)"},
    {"--lora-rank", "N", "Rank of LoRA adapters, 0: train everything (default 0)"},
    {"--lora-targets", "NAME", "Layers that get adapters: all-linear, or names with commas (default all-linear)"},
    {"--lora-dropout", "X", "Dropout before the adapters (default 0)"},
    {"--memory-fraction", "X", "Share of the device that a serving engine takes (default 0.9)"},
    {"--devices", "N", "Devices that are there, 0: as many as the parallel degrees use (default 0)"},
    {"--offload", "NAME",
     "What stays in host memory: none, optimizer, all (with zero=3 also the weights) (default none)"},
    {"--draft-tokens", "N", "Serving: tokens that a draft model proposes in one step (default 0)"},
    {"--parallel", "DEGREES", "Degrees, as tp=4,pp=2,cp=1,ep=1,dp=2,zero=3,sp=yes (default 1 each)"},
    {"--data", "SIZE", "Data set on disk, as 500GiB (default: not planned)"},
    {"--data-workers", "N", "Processes that read and decode data, for each device (default 0)"},
    {"--asset", "NAME=SIZE", "Memory that you name, as scene=3GiB; may be repeated"},
};
/// An input as text, as it takes effect.
std::vector<std::pair<std::string, std::string>> EffectiveInputs(const Workload& workload);

/// The degrees that are not as usual, as --parallel takes them; "one device" where there are none.
std::string DegreesText(const Parallel& parallel);

/// True for serving engines that take a share of the device at their start (vLLM, SGLang).
bool TakesShare(const Workload& workload);

/// Bits of one weight, with its scales. Of a mix: those of the file of Llama 3.1 8B, for when no tensors are known.
double BitsPerWeight(WeightFormat format, Precision precision);
uint64_t ParameterBytes(Precision precision);  // of one parameter
uint64_t ComputeBytes(Precision precision);    // of one activation element

/// "16 GiB", "3.5GB", "1024" → bytes.
Result<uint64_t> ParseBytes(std::string_view text);

}  // namespace memstrata::plan
