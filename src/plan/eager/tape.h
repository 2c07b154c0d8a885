#pragma once
// The state of a simulated PyTorch program: gradient mode, autocast with its cache of cast weights, and the record of
// operations that the backward follows. Rules that decide memory:
//  - an operation saves what its gradient formula needs, inputs before it allocates its result, results after;
//  - autocast casts a parameter once and keeps the copy until the autocast region ends, any other tensor anew each
//  time;
//  - the backward runs nodes by descending sequence, frees what a node saved when it is done, adds gradients in place
//  where
//    the accumulated one has no other holder, and takes a parameter's first gradient over without a copy.

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plan/eager/tensor.h"

namespace memstrata::plan::eager {

/// What of the device decides the size of scratch memory.
struct DeviceTraits {
  uint64_t workspace_bytes = 8'519'680;  // of cuBLAS, per thread: 32 MiB from compute capability 9.0 on
  int32_t multiprocessor_count = 108;
  int32_t threads_per_multiprocessor = 2048;
};

class ShardedParameters;

class Tape {
 public:
  Tape(Device& device, const DeviceTraits& traits) : device_(device), traits_(traits) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Device& device() { return device_; }

  /// A new tensor, labelled as a temporary of the current phase or as `category`.
  Tensor Empty(Shape shape, DType dtype);
  Tensor Empty(Shape shape, DType dtype, Category category);

  /// Parameters that are made from now on lie in host memory.
  void set_parameters_on_host(bool on_host) { parameters_on_host_ = on_host; }
  /// Whoever gathers the parameters of a layer when it runs; null where each rank has all of them.
  void set_shards(ShardedParameters* shards) { shards_ = shards; }
  /// `run` on `input` as the layer with this number: its parameters are gathered before and given back after.
  Tensor RunLayer(int64_t layer, const Tensor& input, const std::function<Tensor(const Tensor&)>& run);

  /// Starts the record of an operation and keeps `saved_inputs`; null when no input needs a gradient.
  std::shared_ptr<Node> Begin(std::initializer_list<const Tensor*> inputs, const std::vector<Tensor>& saved_inputs);
  std::shared_ptr<Node> Begin(std::span<const Tensor* const> inputs, const std::vector<Tensor>& saved_inputs);
  /// Keeps one more tensor (a result of the operation).
  void Save(Node* node, const Tensor& tensor);
  /// Makes `output` a result of `node` (if any).
  void Finish(const std::shared_ptr<Node>& node, Tensor& output, Backward backward);
  /// A saved tensor, recomputed first when its call was checkpointed.
  Tensor Saved(Node& node, size_t index);

  /// `tensor` as autocast gives it to an operation that runs in the low precision (or unchanged outside autocast).
  Tensor ToLowPrecision(const Tensor& tensor);
  std::optional<DType> autocast() const { return autocast_; }
  void BeginAutocast(DType dtype) { autocast_ = dtype; }
  void EndAutocast();
  /// Runs operations as they are given, as PyTorch does inside an operation that autocast has cast for.
  std::optional<DType> SuspendAutocast() { return std::exchange(autocast_, std::nullopt); }
  void ResumeAutocast(std::optional<DType> dtype) { autocast_ = dtype; }

  bool grad_enabled() const { return grad_enabled_; }
  void set_grad_enabled(bool enabled) { grad_enabled_ = enabled; }

  /// The cuBLAS workspace of the current thread (forward or autograd), made at its first matrix product.
  void UseMatrixLibrary();

  /// A sum over the outer dimensions, with the scratch memory of its kernel.
  Tensor SumOuter(const Tensor& x, const Shape& shape);

  /// Runs the backward from a loss. `root_gradient` is the gradient of `root`.
  void RunBackward(const Tensor& root, Tensor root_gradient);
  /// Runs `run` keeping nothing but its input (non-reentrant checkpointing).
  Tensor Checkpoint(std::function<Tensor(Tape&)> run);
  /// The reentrant form: the call runs without gradients and again, with a backward of its own, when its turn comes.
  Tensor CheckpointReentrant(const Tensor& input, std::function<Tensor(Tape&, const Tensor&)> run);

 private:
  friend class BackwardRun;
  void Recompute(CheckpointFrame& frame);
  Edge EdgeTo(const Tensor& input);

  Device& device_;
  DeviceTraits traits_;
  Tensor workspaces_[2];
  uint64_t next_sequence_ = 0;
  bool grad_enabled_ = true;
  std::optional<DType> autocast_;
  std::map<const Parameter*, Tensor> autocast_cache_;
  std::shared_ptr<CheckpointFrame> frame_;  // a checkpointed call that runs for the first time
  CheckpointFrame* recomputing_ = nullptr;  // the one that runs again
  ShardedParameters* shards_ = nullptr;
  bool parameters_on_host_ = false;
  bool is_stopped_ = false;  // it has made all that was saved: the rest is not executed
};

/// The size of an accumulated temporary category for a phase.
Category TemporaryOf(Phase phase);

}  // namespace memstrata::plan::eager
