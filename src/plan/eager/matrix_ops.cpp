#include "plan/eager/ops.h"

namespace memstrata::plan::eager {
namespace {

Tensor SavedIf(bool condition, const Tensor& tensor) { return condition ? tensor : Tensor{}; }

std::vector<Tensor> Present(std::initializer_list<Tensor> tensors) {
  std::vector<Tensor> present;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) present.push_back(tensor);
  }
  return present;
}

}  // namespace

Tensor Linear(Tape& tape, const Tensor& x0, Parameter& weight, Parameter* bias) {
  const Tensor x = tape.ToLowPrecision(x0);
  const bool is_packed = weight.is_quantized;
  const Tensor w = is_packed ? tape.Empty(weight.value.shape, x.dtype) : tape.ToLowPrecision(weight.value);
  const Tensor b = bias != nullptr ? tape.ToLowPrecision(bias->value) : Tensor{};
  tape.UseMatrixLibrary();
  const Tensor flat = x.shape.size() > 2 ? Contiguous(tape, x) : x;  // rows of a matrix may lie apart
  const std::shared_ptr<Node> node =
      tape.Begin({&b, &flat, &w},
                 Present({SavedIf(w.requires_grad, flat), SavedIf(flat.requires_grad, is_packed ? weight.value : w)}));
  Shape shape = flat.shape;
  shape.back() = w.shape[0];
  Tensor result = tape.Empty(shape, flat.dtype);
  tape.Finish(node, result, [is_packed](Tape& t, Node& self, const Gradients& gradients) {
    t.UseMatrixLibrary();
    Gradients out(3);
    const Tensor unpacked = is_packed ? t.Empty(self.edges[2].shape, self.edges[2].dtype) : Tensor{};
    const Tensor gradient = gradients[0].is_contiguous ? gradients[0] : t.Empty(gradients[0].shape, gradients[0].dtype);
    if (self.Needs(0)) out[0] = gradient;  // summed over the rows by the engine
    if (self.Needs(1)) out[1] = t.Empty(self.edges[1].shape, self.edges[1].dtype);
    if (self.Needs(2)) {
      out[2] = t.Empty(self.edges[2].shape, self.edges[2].dtype);
      out[2].is_view = true;  // the product is of the transposed weight
    }
    return out;
  });
  return result;
}

Tensor BatchMatmul(Tape& tape, const Tensor& a0, const Tensor& b0) {
  // Heads of one sample can be joined to a batch without a copy.
  const bool joins_freely = a0.shape[0] == 1;
  Tensor a = tape.ToLowPrecision(a0);
  Tensor b = tape.ToLowPrecision(b0);
  if (!joins_freely) {
    a = Contiguous(tape, a);
    b = Contiguous(tape, b);
  }
  tape.UseMatrixLibrary();
  const std::shared_ptr<Node> node =
      tape.Begin({&a, &b}, Present({SavedIf(a.requires_grad, b), SavedIf(b.requires_grad, a)}));
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  Tensor result = tape.Empty(shape, Promote(a.dtype, b.dtype));
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    t.UseMatrixLibrary();
    const Tensor gradient = gradients[0].is_contiguous ? gradients[0] : t.Empty(gradients[0].shape, gradients[0].dtype);
    Gradients out(2);
    for (size_t i = 0; i < 2; ++i) {
      if (self.Needs(i)) out[i] = t.Empty(self.edges[i].shape, self.edges[i].dtype);
    }
    return out;
  });
  return result;
}

Tensor PatchConvolution(Tape& tape, const Tensor& pixels0, Parameter& weight, Parameter* bias, int64_t grid_height,
                        int64_t grid_width) {
  const Tensor pixels = tape.ToLowPrecision(pixels0);
  const Tensor w = tape.ToLowPrecision(weight.value);
  const Tensor b = bias != nullptr ? tape.ToLowPrecision(bias->value) : Tensor{};
  const std::shared_ptr<Node> node = tape.Begin({&pixels, &w, &b}, {pixels, w});
  Tensor result = tape.Empty({pixels.shape[0], w.shape[0], grid_height, grid_width}, pixels.dtype);
  tape.Finish(node, result, [](Tape& t, Node& self, const Gradients& gradients) {
    Gradients out(3);
    if (self.Needs(0)) out[0] = t.Empty(self.edges[0].shape, self.edges[0].dtype);
    if (self.Needs(1)) out[1] = t.Empty(self.edges[1].shape, self.edges[1].dtype);
    if (self.Needs(2)) out[2] = t.Empty(self.edges[2].shape, gradients[0].dtype);
    return out;
  });
  return result;
}

}  // namespace memstrata::plan::eager
