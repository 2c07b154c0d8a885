#include "plan/eager/experts.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata::plan::eager {
namespace {

// Rows of `x`, copied; the backward writes them into zeros of the whole size, by sorted indices.
Tensor TakeRows(Tape& tape, const Tensor& x, const Tensor& indices, Shape shape) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {indices});
  Tensor result = tape.Empty(std::move(shape), x.dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    Tensor zeros = t.Empty(self.edges[0].shape, gradients[0].dtype);
    const Shape rows{gradients[0].shape[0]};
    const Tensor linear = t.Empty(rows, DType::kInt64);
    const Tensor sorted = t.Empty(rows, DType::kInt64);
    const Tensor original = t.Empty(rows, DType::kInt64);
    return Gradients{std::move(zeros)};
  });
  return result;
}

// `rows` added to some rows of `x`, in place; they are saved.
Tensor AddRows(Tape& tape, const Tensor& x, const Tensor& rows, const Tensor& indices) {
  const std::shared_ptr<Node> node = tape.Begin({&x, &rows}, {indices, rows});
  Tensor result = x;
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{gradients[0], t.Empty(self.edges[1].shape, gradients[0].dtype)};
  });
  return result;
}

// The largest values of each row; which they were is saved.
Tensor LargestOfRows(Tape& tape, const Tensor& x, int64_t count) {
  const Shape shape{x.shape[0], count};
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = tape.Empty(shape, x.dtype);
  const Tensor indices = tape.Empty(shape, DType::kInt64);
  tape.Save(node.get(), indices);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

std::string WithoutLast(const std::string& name, std::string_view last) {
  return name.substr(0, name.size() - last.size());
}

}  // namespace

std::vector<ParameterSpec> WithSingleExperts(const std::vector<ParameterSpec>& parameters) {
  std::vector<ParameterSpec> single;
  for (const ParameterSpec& parameter : parameters) {
    ParameterSpec one = parameter;
    if (one.role == Role::kRouter && one.shape.size() == 2) one.role = Role::kReplicatedLinear;
    if (!IsExpertMatrix(parameter)) {
      single.push_back(std::move(one));
      continue;
    }
    const bool is_first = parameter.name.ends_with("gate_up");
    const std::string prefix = WithoutLast(parameter.name, is_first ? "gate_up" : "down");
    one.role = is_first ? Role::kColumn : Role::kRow;
    one.shape = {is_first ? parameter.shape[1] / 2 : parameter.shape[1], parameter.shape[2]};
    for (int64_t i = 0; i < parameter.shape[0]; ++i) {
      for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
        if (is_first == (name == std::string_view("down_proj"))) continue;
        one.name = fmt::format("{}{}.{}.weight", prefix, i, name);
        single.push_back(one);
      }
    }
  }
  return single;
}

ExpertMlp::ExpertMlp(ParameterSet& parameters, const std::string& prefix, const DecoderSpec& spec)
    : spec_(spec.experts), activation_(spec.activation) {
  const auto linear = [&](const std::string& name) { return LinearLayer::Find(parameters, prefix + name); };
  const auto expert = [&](const std::string& name) {
    return Expert{linear(name + "gate_proj"), linear(name + "up_proj"), linear(name + "down_proj")};
  };
  router_ = linear("router");
  shared_gate_ = linear("shared_gate");
  shared_ = expert("shared.");
  for (int64_t i = 0; i < spec_.count; ++i) experts_.push_back(expert(fmt::format("experts.{}.", i)));
}

Tensor ExpertMlp::RunExpert(Tape& tape, const Expert& expert, const Tensor& x) const {
  const Tensor gate = Activate(tape, expert.gate(tape, x), activation_);
  return expert.down(tape, Multiply(tape, gate, expert.up(tape, x)));
}

// Weights of the chosen experts, which add up to one: [tokens, experts per token].
Tensor ExpertMlp::Route(Tape& tape, const Tensor& x) const {
  Tensor weights = Softmax(tape, router_(tape, x), DType::kFloat32);
  weights = LargestOfRows(tape, weights, spec_.per_token);
  weights = Multiply(tape, weights, MeanOfLast(tape, weights));
  return Cast(tape, weights, x.dtype);
}

Tensor ExpertMlp::operator()(Tape& tape, const Tensor& input) const {
  const int64_t hidden = input.shape.back();
  const Tensor x = View(input, {ElementCount(input.shape) / hidden, hidden});
  const int64_t tokens = x.shape[0], chosen = tokens * spec_.per_token;
  const int64_t hit = std::min(spec_.count, chosen), share = chosen / hit;
  const Tensor weights = Route(tape, x);
  Tensor result = tape.Empty(x.shape, x.dtype);
  const Tensor mask = tape.Empty({tokens, spec_.per_token, spec_.count}, DType::kInt64);
  Tensor state, product;  // those of the expert before stay until the next has its own
  for (int64_t i = 0; i < hit; ++i) {
    const Tensor indices = tape.Empty({share, 2}, DType::kInt64);
    state = TakeRows(tape, x, indices, {share, hidden});
    const Tensor output = RunExpert(tape, experts_[static_cast<size_t>(i)], state);
    product = Multiply(tape, output, TakeRows(tape, weights, indices, {share, 1}));
    result = AddRows(tape, result, Cast(tape, product, x.dtype), indices);
  }
  if (spec_.shared_intermediate > 0) {
    const Tensor shared = RunExpert(tape, shared_, x);
    const Tensor gate = ActivationSavingResult(tape, shared_gate_(tape, x));
    result = Add(tape, result, Multiply(tape, gate, shared));
  }
  return View(result, input.shape);
}

}  // namespace memstrata::plan::eager
