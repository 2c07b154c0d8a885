#pragma once
// Tensors without values: shape, number format and a share of a storage on the simulated device. A storage is freed
// when its last tensor goes, exactly as in PyTorch; so the life of a C++ variable in a model description stands for the
// life of the Python variable that it describes.

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plan/eager/device.h"

namespace memstrata::plan::eager {

enum class DType : uint8_t { kBool, kInt64, kBfloat16, kFloat16, kFloat32 };
constexpr uint64_t ElementBytes(DType type) {
  switch (type) {
    case DType::kBool:
      return 1;
    case DType::kInt64:
      return 8;
    case DType::kBfloat16:
    case DType::kFloat16:
      return 2;
    case DType::kFloat32:
      return 4;
  }
  return 4;
}
/// PyTorch's type promotion for the types above (two different 16-bit floats give float32).
DType Promote(DType a, DType b);

/// Sizes of the dimensions; no tensor of a step has more than these, so copies of shapes allocate nothing.
using Shape = boost::container::small_vector<int64_t, 5>;
int64_t ElementCount(const Shape& shape);
/// The shape of an elementwise result (sizes of 1 stretch).
Shape Broadcast(const Shape& a, const Shape& b);

class Storage {
 public:
  Storage(Device& device, uint64_t requested_bytes, Category category)
      : device_(&device), id_(device.Allocate(requested_bytes, category)), size_bytes_(requested_bytes) {}
  /// A storage that takes no memory: what comes after the early stop of a recomputation.
  Storage() = default;
  ~Storage() {
    if (device_ != nullptr) device_->Free(id_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Takes memory, and gives it back while tensors still refer to it, as a storage that is resized does.
  void Take(Device& device, uint64_t requested_bytes, Category category) {
    device_ = &device;
    id_ = device.Allocate(requested_bytes, category);
    size_bytes_ = requested_bytes;
  }
  void GiveBack() {
    if (device_ != nullptr) device_->Free(id_);
    device_ = nullptr;
    size_bytes_ = 0;
  }
  void Relabel(Category category) {
    if (device_ != nullptr) device_->Relabel(id_, category);
  }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  Device* device_ = nullptr;
  Device::BlockId id_ = 0;
  uint64_t size_bytes_ = 0;
};

struct Node;
struct Parameter;

struct Tensor {
  std::shared_ptr<Storage> storage;
  Shape shape;
  DType dtype = DType::kFloat32;
  bool is_contiguous = true;  // false: a transposed or narrowed view; copies are made where PyTorch makes them
  bool is_view = false;       // a gradient that is a view of the tensor that was computed: never added to in place
  bool requires_grad = false;
  std::shared_ptr<Node> node;      // what made it, when a gradient flows through it
  size_t slot = 0;                 // which output of `node`
  Parameter* parameter = nullptr;  // set for the parameter itself

  bool defined() const { return storage != nullptr; }
  uint64_t size_bytes() const { return static_cast<uint64_t>(ElementCount(shape)) * ElementBytes(dtype); }
  int64_t dim(int index) const { return shape[index < 0 ? shape.size() + index : index]; }
  /// The same storage without its history.
  Tensor Detached() const;
};

struct Parameter {
  Tensor value;
  Tensor grad;
  int64_t layer = -1;  // as ParameterSpec's
  bool is_trainable = true;
  bool is_quantized = false;         // its storage is packed; every product unpacks it for a moment
  uint64_t packed_bytes = 0;         // of that storage
  std::shared_ptr<Node> accumulate;  // made on first use
};

class Tape;

/// A gradient of each input, or an undefined tensor where none is needed.
using Gradients = std::vector<Tensor>;
using Backward = std::function<Gradients(Tape& tape, Node& node, const Gradients& gradients)>;

struct Edge {
  std::shared_ptr<Node> node;  // empty: this input needs no gradient
  size_t slot = 0;
  Shape shape;
  DType dtype = DType::kFloat32;
};

/// One checkpointed call: nothing that it saves is kept; it runs again when its backward asks for the first of it.
struct CheckpointFrame {
  std::function<Tensor(Tape& tape)> run;
  size_t saved_count = 0;
  bool is_recomputed = false;
  std::optional<DType> autocast;
  std::vector<Tensor> recomputed;
};

struct SavedTensor {
  Tensor tensor;
  std::shared_ptr<CheckpointFrame> frame;  // set: the tensor is `frame->recomputed[index]`
  size_t index = 0;
};

struct Node {
  uint64_t sequence = 0;  // the backward runs from high to low
  std::vector<Edge> edges;
  std::vector<SavedTensor> saved;
  size_t output_count = 1;
  std::function<void()> before;  // runs when the gradient of its result is complete
  Backward backward;
  Parameter* accumulates = nullptr;

  bool Needs(size_t input) const { return edges[input].node != nullptr; }
  ~Node();
};

}  // namespace memstrata::plan::eager
