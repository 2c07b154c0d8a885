// The autograd engine: which node runs next, how gradients are added and handed on.

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "plan/eager/ops.h"
#include "plan/eager/tape.h"

namespace memstrata::plan::eager {

class BackwardRun {
 public:
  explicit BackwardRun(Tape& tape) : tape_(tape) {}

  void Run(const Tensor& root, Tensor gradient) {
    CountDependencies(root.node);
    Gradients gradients(root.node->output_count);
    gradients[root.slot] = std::move(gradient);
    buffers_[root.node.get()] = std::move(gradients);
    ready_.push(root.node);
    while (!ready_.empty()) {
      const std::shared_ptr<Node> node = ready_.top();
      ready_.pop();
      Gradients inputs = std::move(buffers_[node.get()]);
      buffers_.erase(node.get());
      if (node->accumulates != nullptr) {
        Accumulate(*node->accumulates, std::move(inputs[0]));
      } else {
        Step(*node, std::move(inputs));
      }
    }
  }

 private:
  struct LaterFirst {
    bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
      return a->sequence < b->sequence;
    }
  };

  void CountDependencies(const std::shared_ptr<Node>& root) {
    std::unordered_set<const Node*> seen{root.get()};
    std::vector<Node*> pending{root.get()};
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      for (const Edge& edge : node->edges) {
        if (!edge.node) continue;
        ++dependencies_[edge.node.get()];
        if (seen.insert(edge.node.get()).second) pending.push_back(edge.node.get());
      }
    }
  }

  void Step(Node& node, Gradients inputs) {
    if (node.before) node.before();
    for (size_t i = 0; i < node.saved.size(); ++i) (void)tape_.Saved(node, i);
    Gradients outputs = node.backward(tape_, node, inputs);
    for (SavedTensor& saved : node.saved) {
      if (saved.frame) saved.tensor = Tensor{};  // what was recomputed has no holder but the formula itself
    }
    for (size_t i = 0; i < node.edges.size(); ++i) {
      if (!node.edges[i].node) outputs[i] = Tensor{};
      if (outputs[i].defined()) outputs[i] = FitToInput(tape_, std::move(outputs[i]), node.edges[i]);
    }
    inputs.clear();
    node.saved.clear();
    for (size_t i = 0; i < node.edges.size(); ++i) {
      if (node.edges[i].node) Deliver(node.edges[i], std::move(outputs[i]));
    }
  }

  // Sums over stretched dimensions and casts, as the engine does before it hands a gradient on.
  static Tensor FitToInput(Tape& tape, Tensor gradient, const Edge& edge) {
    const bool drops_ones = gradient.is_view && gradient.shape.size() > edge.shape.size();
    if (drops_ones || ElementCount(gradient.shape) != ElementCount(edge.shape))
      gradient = tape.SumOuter(gradient, edge.shape);
    if (gradient.dtype != edge.dtype) gradient = CastDetached(tape, gradient, edge.dtype);
    return gradient;
  }

  void Deliver(const Edge& edge, Tensor gradient) {
    Node* target = edge.node.get();
    Gradients& buffer = buffers_[target];
    buffer.resize(target->output_count);
    Tensor& held = buffer[edge.slot];
    if (!held.defined()) {
      held = std::move(gradient);
    } else if (gradient.defined()) {
      if (held.storage.use_count() != 1 || !held.is_contiguous || held.is_view)
        held = tape_.Empty(held.shape, held.dtype);
    }
    if (--dependencies_[target] == 0) ready_.push(edge.node);
  }

  void Accumulate(Parameter& parameter, Tensor gradient) {
    if (!gradient.defined() || parameter.grad.defined()) return;  // present: added in place
    const bool takes_over = gradient.is_contiguous && (gradient.is_view || gradient.storage.use_count() == 1);
    if (!takes_over) gradient = tape_.Empty(parameter.value.shape, parameter.value.dtype);
    gradient.storage->Relabel(Category::kGradient);
    parameter.grad = std::move(gradient);
  }

  Tape& tape_;
  std::unordered_map<const Node*, size_t> dependencies_;
  std::unordered_map<const Node*, Gradients> buffers_;
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, LaterFirst> ready_;
};

void Tape::RunBackward(const Tensor& root, Tensor root_gradient) {
  if (!root.node) return;  // nothing before it is trained
  const bool outer_grad_enabled = grad_enabled_;
  grad_enabled_ = false;
  BackwardRun(*this).Run(root, std::move(root_gradient));
  grad_enabled_ = outer_grad_enabled;
}

Tensor Tape::CheckpointReentrant(const Tensor& input, std::function<Tensor(Tape&, const Tensor&)> run) {
  if (!grad_enabled_) return run(*this, input);
  const std::shared_ptr<Node> node = Begin({&input}, {input});
  grad_enabled_ = false;
  Tensor output = run(*this, input);
  grad_enabled_ = true;
  const std::optional<DType> autocast = autocast_;
  Finish(node, output, [run = std::move(run), autocast](Tape& tape, Node& self, const Gradients& gradients) {
    Parameter leaf;
    leaf.value = tape.Saved(self, 0);
    leaf.value.requires_grad = true;
    leaf.value.parameter = &leaf;
    leaf.is_trainable = false;  // its cast is not cached: it is no weight
    tape.grad_enabled_ = true;
    tape.autocast_ = autocast;
    const Tensor result = run(tape, leaf.value);
    tape.EndAutocast();
    tape.grad_enabled_ = false;
    if (result.node) tape.RunBackward(result, gradients[0]);
    return Gradients{leaf.grad};
  });
  return output;
}

}  // namespace memstrata::plan::eager
