#include "plan/eager/sharded_parameters.h"

#include <utility>

namespace memstrata::plan::eager {
namespace {

constexpr uint32_t kGatherStream = 1;
constexpr uint32_t kReduceStream = 2;

int64_t Rows(const Shape& shape) { return shape.empty() ? 1 : shape[0]; }

}  // namespace

int64_t ShardedParameters::Group::PartCount() const {
  int64_t count = 0;
  for (const Member& member : members) count += member.part_count;
  return count;
}

ShardedParameters::ShardedParameters(Tape& tape, std::deque<Parameter>& parameters, int64_t layer_count,
                                     int64_t rank_count, DType stored)
    : tape_(tape), rank_count_(rank_count), stored_(stored), layers_(static_cast<size_t>(layer_count)) {
  for (Parameter& parameter : parameters) {
    const bool is_of_layer = parameter.layer >= 0 && parameter.layer < layer_count;
    Group& group = is_of_layer ? layers_[static_cast<size_t>(parameter.layer)] : rest_;
    group.members.push_back({&parameter, parameter.value, {}, {}});
  }
  for (Group& group : layers_) Cut(group, rank_count);
  Cut(rest_, rank_count);
}

// The last ranks' parts are filled up to the size of the first one's.
void ShardedParameters::Cut(Group& group, int64_t rank_count) {
  std::vector<Tensor> moved;  // live until the whole group is cut
  moved.reserve(group.members.size());
  for (const Member& member : group.members)
    moved.push_back(tape_.Empty(member.whole.shape, stored_, Category::kOther));
  for (Member& member : group.members) {
    Shape shape = member.whole.shape;
    if (!shape.empty()) shape[0] = (Rows(shape) + rank_count - 1) / rank_count;
    member.part_count = ElementCount(shape);
    member.part = tape_.Empty(shape, stored_, Category::kParameter);
    member.part.requires_grad = member.parameter->is_trainable;
    member.part.parameter = member.parameter;
    member.parameter->value = member.part;
  }
}

void ShardedParameters::BeginForward() {
  const auto begin = [](Group& group) {
    group.is_reduced = false;
    for (Member& member : group.members) {
      member.part_gradient = std::exchange(member.parameter->grad, Tensor{});
      member.parameter->value = member.whole;
    }
  };
  for (Group& group : layers_) begin(group);
  begin(rest_);
  StartGather(rest_);
  FinishGather(rest_, true);
}

void ShardedParameters::EndForward(const Tensor& loss) {
  last_gathered_ = Tensor{};
  if (!loss.node || layers_.empty()) return;
  loss.node->before = [this] { StartGather(layers_.back()); };
}

Tensor ShardedParameters::EnterLayer(int64_t layer, const Tensor& input) {
  Group& group = layers_[static_cast<size_t>(layer)];
  StartGather(group);
  FinishGather(group, true);
  const std::shared_ptr<Node> node = tape_.Begin({&input}, {});
  if (!node) return input;
  Tensor marked = input.Detached();
  tape_.Finish(node, marked, [this, &group](Tape&, Node&, const Gradients& gradients) {
    Reduce(group);
    return Gradients{gradients[0]};
  });
  return marked;
}

void ShardedParameters::LeaveLayer(int64_t layer, const Tensor& output) {
  const auto index = static_cast<size_t>(layer);
  GiveBack(layers_[index]);
  if (output.node) output.node->before = [this, index] { BeforeBackward(index); };
}

void ShardedParameters::BeforeBackward(size_t index) {
  StartGather(layers_[index]);
  FinishGather(layers_[index], false);
  if (index > 0) StartGather(layers_[index - 1]);
}

void ShardedParameters::EndBackward() {
  Reduce(rest_);
  for (Group& group : layers_) Reduce(group);  // a first layer whose input needs no gradient
  reduced_ = Tensor{};
  const auto end = [](Group& group) {
    group.gathered = Tensor{};
    for (Member& member : group.members) {
      member.parameter->value = member.part;
      member.parameter->grad = std::exchange(member.part_gradient, Tensor{});
    }
  };
  for (Group& group : layers_) end(group);
  end(rest_);
}

void ShardedParameters::StartGather(Group& group) {
  if (group.is_whole || group.gathered.defined() || group.members.empty()) return;
  const DType dtype = group.members.front().whole.dtype;
  tape_.device().set_stream(kGatherStream);
  Tensor cast;
  if (dtype != stored_) cast = tape_.Empty({group.PartCount()}, dtype, Category::kCommunication);
  group.gathered = tape_.Empty({group.PartCount() * rank_count_}, dtype, Category::kCommunication);
  tape_.device().set_stream(0);
}

void ShardedParameters::FinishGather(Group& group, bool is_forward) {
  if (!group.gathered.defined()) return;
  if (is_forward) last_gathered_ = Tensor{};
  for (const Member& member : group.members) {
    const auto count = static_cast<uint64_t>(member.part_count * rank_count_);
    member.whole.storage->Take(tape_.device(), count * ElementBytes(member.whole.dtype), Category::kCommunication);
  }
  group.is_whole = true;
  if (is_forward) last_gathered_ = std::move(group.gathered);
  group.gathered = Tensor{};
}

void ShardedParameters::GiveBack(Group& group) {
  for (const Member& member : group.members) member.whole.storage->GiveBack();
  group.is_whole = false;
}

void ShardedParameters::Reduce(Group& group) {
  if (std::exchange(group.is_reduced, true)) return;
  std::vector<Tensor> gradients;
  int64_t part_count = 0;
  for (Member& member : group.members) {
    if (!member.parameter->grad.defined()) continue;
    gradients.push_back(std::exchange(member.parameter->grad, Tensor{}));
    part_count += member.part_count;
  }
  GiveBack(group);
  if (gradients.empty()) return;
  reduced_ = Tensor{};
  reduced_ = tape_.Empty({part_count * rank_count_}, stored_, Category::kCommunication);
  gradients.clear();
  tape_.device().set_stream(kReduceStream);
  const Tensor parts = tape_.Empty({part_count}, stored_, Category::kGradient);
  tape_.device().set_stream(0);
  for (Member& member : group.members) {
    if (member.part_gradient.defined()) continue;  // accumulated in place
    member.part_gradient = parts;
    member.part_gradient.shape = member.part.shape;
    member.part_gradient.is_view = true;
  }
}

}  // namespace memstrata::plan::eager
