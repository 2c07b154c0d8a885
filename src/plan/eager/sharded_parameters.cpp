#include "plan/eager/sharded_parameters.h"

#include <utility>

namespace memstrata::plan::eager {
namespace {

constexpr uint32_t kGatherStream = 1;
constexpr uint32_t kReduceStream = 2;

int64_t Rows(const Shape& shape) { return shape.empty() ? 1 : shape[0]; }

}  // namespace

uint64_t ShardedParameters::Group::WholeBytes() const {
  uint64_t size_bytes = 0;
  for (const Member& member : members) size_bytes += member.whole_bytes;
  return size_bytes;
}

ShardedParameters::ShardedParameters(Tape& tape, std::deque<Parameter>& parameters, int64_t layer_count,
                                     int64_t rank_count, std::optional<DType> widened)
    : tape_(tape), rank_count_(rank_count), widened_(widened), layers_(static_cast<size_t>(layer_count)) {
  for (Parameter& parameter : parameters) {
    const bool is_of_layer = parameter.layer >= 0 && parameter.layer < layer_count;
    Group& group = is_of_layer ? layers_[static_cast<size_t>(parameter.layer)] : rest_;
    group.members.push_back({&parameter, parameter.value, {}, {}});
  }
  for (Group& group : layers_) Cut(group);
  Cut(rest_);
}

Tensor ShardedParameters::Buffer(uint64_t size_bytes, Category category) {
  return tape_.Empty({static_cast<int64_t>(size_bytes)}, DType::kBool, category);
}

void ShardedParameters::Cut(Group& group) {
  std::vector<Tensor> moved;  // live until the whole group is cut
  moved.reserve(group.members.size());
  for (const Member& member : group.members) {
    const DType dtype = widened_.value_or(member.whole.dtype);
    moved.push_back(member.parameter->is_quantized ? Buffer(member.parameter->packed_bytes, Category::kOther)
                                                   : tape_.Empty(member.whole.shape, dtype, Category::kOther));
  }
  for (Member& member : group.members) CutMember(member);
}

// The last ranks' parts are filled up to the size of the first one's.
void ShardedParameters::CutMember(Member& member) {
  Parameter& parameter = *member.parameter;
  if (parameter.is_quantized) {
    const auto ranks = static_cast<uint64_t>(rank_count_);
    member.part_bytes = (parameter.packed_bytes + ranks - 1) / ranks;
    member.part = Buffer(member.part_bytes, Category::kParameter);
    member.part.dtype = member.whole.dtype;
    member.whole_bytes = member.part_bytes * ranks;
  } else {
    Shape shape = member.whole.shape;
    if (!shape.empty()) shape[0] = (Rows(shape) + rank_count_ - 1) / rank_count_;
    member.part = tape_.Empty(shape, widened_.value_or(member.whole.dtype), Category::kParameter);
    member.part_bytes = member.part.size_bytes();
    member.whole_bytes = static_cast<uint64_t>(ElementCount(shape) * rank_count_) * ElementBytes(member.whole.dtype);
  }
  member.part.requires_grad = parameter.is_trainable;
  member.part.parameter = member.parameter;
  parameter.value = member.part;
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
  const uint64_t whole_bytes = group.WholeBytes();
  tape_.device().set_stream(kGatherStream);
  Tensor cast;
  if (widened_) cast = Buffer(whole_bytes / static_cast<uint64_t>(rank_count_), Category::kCommunication);
  group.gathered = Buffer(whole_bytes, Category::kCommunication);
  tape_.device().set_stream(0);
}

void ShardedParameters::FinishGather(Group& group, bool is_forward) {
  if (!group.gathered.defined()) return;
  if (is_forward) last_gathered_ = Tensor{};
  for (const Member& member : group.members)
    member.whole.storage->Take(tape_.device(), member.whole_bytes, Category::kCommunication);
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
  std::vector<Member*> reduced;
  uint64_t part_bytes = 0;
  for (Member& member : group.members) {
    if (!member.parameter->grad.defined()) continue;
    gradients.push_back(std::exchange(member.parameter->grad, Tensor{}));
    reduced.push_back(&member);
    part_bytes += member.part_bytes;
  }
  GiveBack(group);
  if (gradients.empty()) return;
  reduced_ = Tensor{};
  reduced_ = Buffer(part_bytes * static_cast<uint64_t>(rank_count_), Category::kCommunication);
  gradients.clear();
  tape_.device().set_stream(kReduceStream);
  const Tensor parts = Buffer(part_bytes, Category::kGradient);
  tape_.device().set_stream(0);
  for (Member* member : reduced) {
    if (member->part_gradient.defined()) continue;  // accumulated in place
    member->part_gradient = parts;
    member->part_gradient.shape = member->part.shape;
    member->part_gradient.dtype = member->part.dtype;
    member->part_gradient.is_view = true;
  }
}

}  // namespace memstrata::plan::eager
