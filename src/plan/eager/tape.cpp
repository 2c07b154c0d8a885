#include "plan/eager/tape.h"

#include <algorithm>

#include "plan/eager/ops.h"
#include "plan/eager/sharded_parameters.h"

namespace memstrata::plan::eager {

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if ((a == DType::kBfloat16 && b == DType::kFloat16) || (a == DType::kFloat16 && b == DType::kBfloat16))
    return DType::kFloat32;
  return std::max(a, b);
}

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

Shape Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) result[offset + i] = std::max(result[offset + i], shorter[i]);
  return result;
}

Tensor Tensor::Detached() const {
  Tensor result = *this;
  result.requires_grad = false;
  result.node.reset();
  result.slot = 0;
  return result;
}

Node::~Node() {
  // A chain of thousands of nodes must not be freed by recursion.
  std::vector<std::shared_ptr<Node>> pending;
  const auto take = [&pending](Node& node) {
    for (Edge& edge : node.edges) {
      if (edge.node && edge.node.use_count() == 1) pending.push_back(std::move(edge.node));
    }
  };
  take(*this);
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    take(*node);
  }
}

Category TemporaryOf(Phase phase) {
  switch (phase) {
    case Phase::kBackward:
      return Category::kBackwardTemporary;
    case Phase::kOptimizer:
    case Phase::kZeroGrad:
      return Category::kOptimizerTemporary;
    case Phase::kInput:
      return Category::kInput;
    case Phase::kBuild:
      return Category::kOther;
    case Phase::kForward:
    case Phase::kPrefill:
    case Phase::kDecode:
      return Category::kForwardTemporary;
  }
  return Category::kOther;
}

Tensor Tape::Empty(Shape shape, DType dtype) { return Empty(std::move(shape), dtype, TemporaryOf(device_.phase())); }

Tensor Tape::Empty(Shape shape, DType dtype, Category category) {
  Tensor result;
  result.shape = std::move(shape);
  result.dtype = dtype;
  const bool is_on_host = parameters_on_host_ && category == Category::kParameter;
  result.storage = is_stopped_ || is_on_host ? std::make_shared<Storage>()
                                             : std::make_shared<Storage>(device_, result.size_bytes(), category);
  return result;
}

Edge Tape::EdgeTo(const Tensor& input) {
  Edge edge{nullptr, input.slot, input.shape, input.dtype};
  if (!input.requires_grad) return edge;
  edge.node = input.node;
  if (input.parameter != nullptr) {
    Parameter& parameter = *input.parameter;
    if (!parameter.accumulate) {
      parameter.accumulate = std::make_shared<Node>();
      parameter.accumulate->sequence = UINT64_MAX;
      parameter.accumulate->accumulates = &parameter;
    }
    edge.node = parameter.accumulate;
  }
  return edge;
}

std::shared_ptr<Node> Tape::Begin(std::initializer_list<const Tensor*> inputs,
                                  const std::vector<Tensor>& saved_inputs) {
  return Begin(std::span<const Tensor* const>(inputs.begin(), inputs.size()), saved_inputs);
}

std::shared_ptr<Node> Tape::Begin(std::span<const Tensor* const> inputs, const std::vector<Tensor>& saved_inputs) {
  const bool needed =
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return input->requires_grad; });
  if (!grad_enabled_ || !needed) return nullptr;
  auto node = std::make_shared<Node>();
  node->sequence = next_sequence_++;
  for (const Tensor* input : inputs) node->edges.push_back(EdgeTo(*input));
  for (const Tensor& tensor : saved_inputs) Save(node.get(), tensor);
  return node;
}

void Tape::Save(Node* node, const Tensor& tensor) {
  if (node == nullptr) return;
  if (recomputing_ != nullptr) {
    if (!is_stopped_) recomputing_->recomputed.push_back(tensor.Detached());
    if (recomputing_->recomputed.size() == recomputing_->saved_count) is_stopped_ = true;
    return;
  }
  if (frame_) {
    node->saved.push_back({{}, frame_, frame_->saved_count++});
    return;
  }
  node->saved.push_back({tensor.Detached(), nullptr, 0});
}

void Tape::Finish(const std::shared_ptr<Node>& node, Tensor& output, Backward backward) {
  if (!node) return;
  node->backward = std::move(backward);
  output.requires_grad = true;
  output.node = node;
  output.slot = 0;
}

Tensor Tape::Saved(Node& node, size_t index) {
  SavedTensor& saved = node.saved[index];
  if (!saved.frame) return saved.tensor;
  if (!saved.frame->is_recomputed) Recompute(*saved.frame);
  if (saved.frame->recomputed[saved.index].defined()) saved.tensor = std::move(saved.frame->recomputed[saved.index]);
  return saved.tensor;
}

Tensor Tape::ToLowPrecision(const Tensor& tensor) {
  if (!autocast_ || tensor.dtype != DType::kFloat32) return tensor;
  if (tensor.parameter == nullptr || !tensor.parameter->is_trainable) return Cast(*this, tensor, *autocast_);
  const auto found = autocast_cache_.find(tensor.parameter);
  if (found != autocast_cache_.end()) return found->second;
  Tensor copy = Cast(*this, tensor, *autocast_);
  copy.storage->Relabel(Category::kAutocastCopy);
  autocast_cache_[tensor.parameter] = copy;
  return copy;
}

void Tape::EndAutocast() {
  autocast_.reset();
  autocast_cache_.clear();
}

void Tape::UseMatrixLibrary() {
  Tensor& workspace = workspaces_[device_.phase() == Phase::kBackward ? 1 : 0];
  if (workspace.defined() || traits_.workspace_bytes == 0 || is_stopped_) return;
  workspace = Empty({static_cast<int64_t>(traits_.workspace_bytes)}, DType::kBool, Category::kWorkspace);
}

Tensor Tape::RunLayer(int64_t layer, const Tensor& input, const std::function<Tensor(const Tensor&)>& run) {
  if (shards_ == nullptr || recomputing_ != nullptr) return run(input);  // what runs again is gathered for its backward
  const Tensor output = run(shards_->EnterLayer(layer, input));
  shards_->LeaveLayer(layer, output);
  return output;
}

Tensor Tape::Checkpoint(std::function<Tensor(Tape&)> run) {
  if (!grad_enabled_) return run(*this);
  auto frame = std::make_shared<CheckpointFrame>();
  frame->run = std::move(run);
  frame->autocast = autocast_;
  frame_ = frame;
  Tensor output = frame->run(*this);
  frame_.reset();
  return output;
}

void Tape::Recompute(CheckpointFrame& frame) {
  const std::optional<DType> outer_autocast = autocast_;
  auto outer_cache = std::move(autocast_cache_);
  autocast_cache_.clear();
  autocast_ = frame.autocast;
  grad_enabled_ = true;
  recomputing_ = &frame;
  is_stopped_ = false;
  frame.is_recomputed = true;
  frame.run(*this);
  is_stopped_ = false;
  recomputing_ = nullptr;
  grad_enabled_ = false;
  autocast_ = outer_autocast;
  autocast_cache_ = std::move(outer_cache);
}

}  // namespace memstrata::plan::eager
