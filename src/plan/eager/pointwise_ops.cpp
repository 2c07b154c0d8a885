#include <algorithm>

#include "plan/eager/ops.h"

namespace memstrata::plan::eager {
namespace {

// The result of an elementwise operation keeps its first operand's order of elements.
Tensor Like(Tape& tape, const Tensor& x, DType dtype) {
  Tensor result = tape.Empty(x.shape, dtype);
  result.is_contiguous = x.is_contiguous;
  return result;
}

// Autocast runs some operations in float32.
Tensor ToFloat32(Tape& tape, const Tensor& x) { return tape.autocast() ? Cast(tape, x, DType::kFloat32) : x; }

Backward OneNewGradient() {
  return [](Tape& tape, Node& node, const Gradients& gradients) {
    return Gradients{tape.Empty(node.edges[0].shape, Promote(gradients[0].dtype, node.edges[0].dtype))};
  };
}

}  // namespace

Tensor View(const Tensor& x, Shape shape) {
  Tensor result = x;
  result.shape = std::move(shape);
  result.parameter = x.parameter;
  return result;
}

Tensor Transposed(const Tensor& x, Shape shape) {
  Tensor result = View(x, std::move(shape));
  result.is_contiguous = !x.is_contiguous;
  return result;
}

Tensor Slice(Tape& tape, const Tensor& x, int dim, int64_t size) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = View(x, x.shape);
  result.shape[dim < 0 ? result.shape.size() + dim : dim] = size;
  result.is_contiguous = false;
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

Tensor ExpandView(Tape& tape, const Tensor& x, Shape shape) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = View(x, std::move(shape));
  result.parameter = nullptr;
  result.requires_grad = false;
  result.node = nullptr;
  tape.Finish(node, result,
              [](Tape&, Node&, const Gradients& gradients) { return gradients; });  // summed by the engine
  return result;
}

std::vector<Tensor> Split(Tape& tape, const Tensor& x, const std::vector<int64_t>& sizes) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  std::vector<Tensor> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Tensor part = View(x, x.shape);
    part.shape.back() = sizes[i];
    part.is_contiguous = false;
    tape.Finish(node, part, [](Tape& t, Node& self, const Gradients& gradients) {
      return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
    });
    part.slot = i;
    parts.push_back(std::move(part));
  }
  if (node) node->output_count = sizes.size();
  return parts;
}

Tensor CastDetached(Tape& tape, const Tensor& x, DType dtype) { return Like(tape, x, dtype); }

Tensor Cast(Tape& tape, const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{CastDetached(t, gradients[0], self.edges[0].dtype)};
  });
  return result;
}

Tensor Clone(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = tape.Empty(x.shape, x.dtype);
  tape.Finish(node, result, [](Tape&, Node&, const Gradients& gradients) { return gradients; });
  return result;
}

Tensor Contiguous(Tape& tape, const Tensor& x) { return x.is_contiguous ? x : Clone(tape, x); }

Tensor Cat(Tape& tape, const std::vector<Tensor>& parts, int dim) {
  std::vector<const Tensor*> inputs;
  DType dtype = parts[0].dtype;
  Shape shape = parts[0].shape;
  const size_t axis = dim < 0 ? shape.size() + dim : dim;
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    inputs.push_back(&part);
    dtype = Promote(dtype, part.dtype);
    shape[axis] += part.shape[axis];
  }
  const std::shared_ptr<Node> node = tape.Begin(inputs, {});
  Tensor result = tape.Empty(shape, dtype);
  const bool is_outermost = ElementCount(Shape(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis))) == 1;
  tape.Finish(node, result, [is_outermost](Tape&, Node& self, const Gradients& gradients) {
    Gradients pieces;  // views of the one gradient
    for (const Edge& edge : self.edges) {
      Tensor piece = View(gradients[0], edge.shape);
      piece.is_contiguous = is_outermost;
      piece.is_view = true;
      pieces.push_back(std::move(piece));
    }
    return pieces;
  });
  return result;
}

Tensor ExpandCopy(Tape& tape, const Tensor& x, Shape expanded, Shape result_shape) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = tape.Empty(std::move(expanded), x.dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return View(result, std::move(result_shape));
}

Tensor Add(Tape& tape, const Tensor& a, const Tensor& b) {
  const std::shared_ptr<Node> node = tape.Begin({&a, &b}, {});
  Tensor result = tape.Empty(Broadcast(a.shape, b.shape), Promote(a.dtype, b.dtype));
  result.is_contiguous = a.is_contiguous;
  tape.Finish(node, result, [](Tape&, Node&, const Gradients& gradients) {
    return Gradients{gradients[0], gradients[0]};
  });
  return result;
}

Tensor MaskedFill(Tape& tape, const Tensor& x, const Tensor& mask) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {mask});
  Tensor result = Like(tape, x, x.dtype);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor AddInPlace(Tape& tape, const Tensor& a, const Tensor& b) {
  const std::shared_ptr<Node> node = tape.Begin({&a, &b}, {});
  Tensor result = a;
  tape.Finish(node, result, [](Tape&, Node&, const Gradients& gradients) {
    return Gradients{gradients[0], gradients[0]};
  });
  return result;
}

Tensor Multiply(Tape& tape, const Tensor& a, const Tensor& b) {
  std::vector<Tensor> saved;
  if (a.requires_grad) saved.push_back(b);
  if (b.requires_grad) saved.push_back(a);
  const std::shared_ptr<Node> node = tape.Begin({&a, &b}, std::move(saved));
  Tensor result = tape.Empty(Broadcast(a.shape, b.shape), Promote(a.dtype, b.dtype));
  result.is_contiguous = a.is_contiguous;
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    Gradients out(2);
    for (size_t i = 0; i < 2; ++i) {
      const Edge& other = self.edges[1 - i];
      if (self.Needs(i)) out[i] = t.Empty(gradients[0].shape, Promote(gradients[0].dtype, other.dtype));
    }
    return out;
  });
  return result;
}

Tensor AddScalar(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, x.dtype);
  tape.Finish(node, result, [](Tape&, Node&, const Gradients& gradients) { return gradients; });
  return result;
}

Tensor Scale(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, x.dtype);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor Power(Tape& tape, const Tensor& x0) {
  const Tensor x = ToFloat32(tape, x0);
  const std::shared_ptr<Node> node = tape.Begin({&x}, {x});
  Tensor result = Like(tape, x, x.dtype);
  // grad · (exponent · x^(exponent - 1)): two temporaries live until the expression ends.
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    const Tensor power = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    const Tensor scaled = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

Tensor Rsqrt(Tape& tape, const Tensor& x0) {
  const Tensor x = ToFloat32(tape, x0);
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, x.dtype);
  tape.Save(node.get(), result);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor MeanOfLast(Tape& tape, const Tensor& x) { return MeanOver(tape, x, -1); }

Tensor MeanOver(Tape& tape, const Tensor& x, int dim) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Shape shape = x.shape;
  shape[dim < 0 ? shape.size() + dim : dim] = 1;
  Tensor result = tape.Empty(shape, x.dtype);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor ActivationSavingResult(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, x.dtype);
  tape.Save(node.get(), result);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor ActivationSavingInput(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {x});
  Tensor result = Like(tape, x, x.dtype);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

Tensor GeluNew(Tape& tape, const Tensor& x) {
  const Tensor half = Scale(tape, x);
  Tensor inner = Power(tape, x);
  inner = Scale(tape, inner);
  inner = Add(tape, x, inner);
  inner = Scale(tape, inner);
  inner = ActivationSavingResult(tape, inner);
  inner = AddScalar(tape, inner);
  return Multiply(tape, half, inner);
}

Tensor QuickGelu(Tape& tape, const Tensor& x) {
  Tensor gate = Scale(tape, x);
  gate = ActivationSavingResult(tape, gate);
  return Multiply(tape, x, gate);
}

namespace {

// The formula without a record: each operation makes one more tensor, and the last operands live until it ends.
Tensor GeluPieces(Tape& tape, const Tensor& x) {
  const Tensor half = Like(tape, x, x.dtype);
  Tensor inner = Like(tape, x, x.dtype);
  inner = Like(tape, x, x.dtype);
  inner = Like(tape, x, x.dtype);
  return Like(tape, x, x.dtype);
}

}  // namespace

Tensor GeluInParts(Tape& tape, const Tensor& x) {
  const std::shared_ptr<Node> node = tape.Begin({&x}, {x});
  Tensor result = GeluPieces(tape, x);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    const Tensor input = t.Empty(self.edges[0].shape, gradients[0].dtype);
    const Tensor slope = GeluPieces(t, input);
    return Gradients{t.Empty(self.edges[0].shape, gradients[0].dtype)};
  });
  return result;
}

Tensor Dropout(Tape& tape, const Tensor& x, double probability) {
  if (probability <= 0 || !tape.grad_enabled()) return x;
  const std::shared_ptr<Node> node = tape.Begin({&x}, {});
  Tensor result = Like(tape, x, x.dtype);
  const Tensor mask = tape.Empty(x.shape, DType::kBool);
  tape.Save(node.get(), mask);
  tape.Finish(node, result, OneNewGradient());
  return result;
}

}  // namespace memstrata::plan::eager
