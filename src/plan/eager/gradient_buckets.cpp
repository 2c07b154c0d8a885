#include "plan/eager/gradient_buckets.h"

#include <map>

namespace memstrata::plan::eager {
namespace {

// PyTorch's own limits: of the first bucket, of the others, and of what is sent at once when the model is made.
constexpr uint64_t kFirstBucketBytes = uint64_t{1} << 20;
constexpr uint64_t kBucketBytes = uint64_t{25} << 20;
constexpr uint64_t kSentBytes = uint64_t{250} << 20;
constexpr size_t kSentAtOnce = 2;

// Sizes of the flat tensors: one is full when it has reached its limit, number formats do not mix.
struct Flat {
  DType dtype;
  int64_t element_count;
};
std::vector<Flat> Flatten(const std::vector<const Parameter*>& parameters, uint64_t first_limit, uint64_t limit) {
  std::vector<Flat> full;
  std::map<DType, std::pair<int64_t, bool>> open;  // elements so far, and whether one was full before
  for (const Parameter* parameter : parameters) {
    const DType dtype = parameter->value.dtype;
    auto& [count, has_first] = open[dtype];
    count += ElementCount(parameter->value.shape);
    if (static_cast<uint64_t>(count) * ElementBytes(dtype) < (has_first ? limit : first_limit)) continue;
    full.push_back({dtype, count});
    count = 0;
    has_first = true;
  }
  for (const auto& [dtype, rest] : open) {
    if (rest.first > 0) full.push_back({dtype, rest.first});
  }
  return full;
}

}  // namespace

GradientBuckets::GradientBuckets(Tape& tape, std::deque<Parameter>& parameters) : tape_(tape) {
  std::vector<const Parameter*> all;
  for (const Parameter& parameter : parameters) {
    all.push_back(&parameter);
    if (parameter.is_trainable) trained_.push_back(&parameter);
  }
  std::deque<Tensor> sent;
  for (const Flat& flat : Flatten(all, kSentBytes, kSentBytes)) {
    if (sent.size() == kSentAtOnce) sent.pop_front();
    sent.push_back(tape_.Empty({flat.element_count}, flat.dtype, Category::kCommunication));
  }
  sent.clear();
  Make(trained_);
}

void GradientBuckets::BeginForward() {
  if (++forward_count_ == 2) Make({trained_.rbegin(), trained_.rend()});
}

void GradientBuckets::Make(const std::vector<const Parameter*>& in_order) {
  buckets_.clear();
  for (const Flat& flat : Flatten(in_order, kFirstBucketBytes, kBucketBytes))
    buckets_.push_back(tape_.Empty({flat.element_count}, flat.dtype, Category::kCommunication));
}

}  // namespace memstrata::plan::eager
