#pragma once
// The flat buckets into which PyTorch's DistributedDataParallel copies gradients to reduce them over the ranks
// (gradient_as_bucket_view=False). They are made with the model and live as long as it does; after the first backward
// they are made anew, in the order in which gradients come.

#include <deque>
#include <vector>

#include "plan/eager/tape.h"

namespace memstrata::plan::eager {

class GradientBuckets {
 public:
  /// Making them also sends the model's state to the other ranks, through buffers that are given back.
  GradientBuckets(Tape& tape, std::deque<Parameter>& parameters);
  /// Makes them anew when this is the second forward.
  void BeginForward();

 private:
  void Make(const std::vector<const Parameter*>& in_order);

  Tape& tape_;
  std::vector<const Parameter*> trained_;
  std::vector<Tensor> buckets_;
  int64_t forward_count_ = 0;
};

}  // namespace memstrata::plan::eager
