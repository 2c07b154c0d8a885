#pragma once
// A model that can be run on a tape, and what a run is asked to do.

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/eager/ops.h"
#include "plan/model/parameter_spec.h"

namespace memstrata::plan::eager {

enum class MaskKind : uint8_t { kNone, kOnes, kPadded };
enum class CheckpointKind : uint8_t { kNone, kNonReentrant, kReentrant };
enum class AttentionKind : uint8_t { kFused, kEager };
/// Of causal language models: as transformers computes it, in one kernel, in pieces, or together with the head.
enum class LossKind : uint8_t { kPlain, kFused, kChunked, kLinearFused };

struct RunOptions {
  int64_t batch = 1;
  int64_t sequence = 1;
  int64_t target_sequence = 0;  // decoder length of encoder-decoder models
  MaskKind mask = MaskKind::kOnes;
  CheckpointKind checkpoint = CheckpointKind::kNone;
  int64_t checkpoint_every = 1;  // of decoders: every n-th layer is checkpointed
  LossKind loss = LossKind::kPlain;
  AttentionKind attention = AttentionKind::kFused;
  bool use_cache = true;
  bool is_training = true;
  int64_t logits_to_keep = 0;  // 0: all
  bool generates = false;      // encoder-decoder models: from one start token instead of labels
};

enum class AdapterForm : uint8_t { kLowRank, kScaleAndBias, kPrompt };

struct AdapterOptions {
  AdapterForm form = AdapterForm::kLowRank;
  int64_t rank = 0;  // kLowRank: 0: no adapters
  double dropout = 0;
  double frozen_linear_bits = 0;     // of a packed weight of the frozen linear layers, 0: not packed
  std::vector<std::string> targets;  // kLowRank: suffixes of parameter names; empty: every linear layer but the head

  bool IsUsed() const { return rank > 0 || form != AdapterForm::kLowRank; }
};

/// What a model's description lists.
struct ModelTensors {
  const std::vector<ParameterSpec>& parameters;
  const std::vector<BufferSpec>& buffers;
};

/// The parameters of a model on the device, in the order of their specifications.
class ParameterSet {
 public:
  ParameterSet(Tape& tape, const std::vector<ParameterSpec>& specs, const std::vector<BufferSpec>& buffers, DType dtype,
               const AdapterOptions& adapters);
  /// Freezes everything and adds adapters: low-rank pairs (float32) at the linear layers that `options` names; a scale
  /// and a bias behind each linear layer; or a prompt and a gate at each attention from the third layer on.
  void AddAdapters(Tape& tape, const AdapterOptions& options);

  Parameter& Get(const std::string& name) { return *by_name_.at(name); }
  Parameter* Find(const std::string& name);
  struct Adapter {
    Parameter* down = nullptr;  // low rank
    Parameter* up = nullptr;
    double dropout = 0;
    Parameter* scale = nullptr;  // scale and bias
    Parameter* bias = nullptr;
    Parameter* prompt = nullptr;  // prompt, kept at the output projection of its attention
    Parameter* gate = nullptr;
  };
  const Adapter* AdapterOf(const Parameter& weight) const;
  std::deque<Parameter>& all() { return parameters_; }
  bool has_adapters() const { return !adapters_.empty(); }
  DType dtype() const { return dtype_; }

 private:
  Parameter& Add(Tape& tape, const Shape& shape, DType dtype, int64_t layer);
  Parameter& AddPacked(Tape& tape, const Shape& shape, DType dtype, double bits, int64_t layer);

  std::vector<ParameterSpec> specs_;
  std::deque<Parameter> parameters_;
  std::vector<Tensor> buffers_;
  std::unordered_map<std::string, Parameter*> by_name_;
  std::unordered_map<const Parameter*, Adapter> adapters_;
  DType dtype_;
};

/// Keys and values of each layer.
struct KvCache {
  std::vector<Tensor> keys;
  std::vector<Tensor> values;
  std::vector<int64_t> windows;  // tokens that a layer attends to at most, 0: all
  Tensor memory;                 // the encoder's output, in encoder-decoder models
};

/// What a forward returns; it lives until the caller drops it.
struct ModelOutput {
  Tensor loss;
  Tensor logits;
  std::vector<Tensor> others;
  std::shared_ptr<KvCache> cache;
};

/// The tensors that a step is fed with.
struct ModelInputs {
  Tensor ids;
  Tensor pixels;
  Tensor mask;
  Tensor labels;
};

/// Of the frozen table of tokens beside adapters: recomputing asks for a gradient of what it gives.
inline void NeedGradientToRecompute(const ParameterSet& parameters, const RunOptions& options, Tensor& embedded) {
  if (options.checkpoint != CheckpointKind::kNone && options.is_training && parameters.has_adapters())
    embedded.requires_grad = true;
}

class EagerModel {
 public:
  virtual ~EagerModel() = default;
  virtual ParameterSet& parameters() = 0;
  virtual ModelInputs MakeInputs(Tape& tape, const RunOptions& options) = 0;
  /// One forward; with labels in `inputs` also the loss. A cache that is given is read and extended.
  virtual ModelOutput Forward(Tape& tape, const ModelInputs& inputs, const RunOptions& options,
                              std::shared_ptr<KvCache> cache) = 0;
};

}  // namespace memstrata::plan::eager
