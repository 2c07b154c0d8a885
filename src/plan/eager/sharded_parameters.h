#pragma once
// One rank of fully_shard (PyTorch's FSDP2), each layer a group and the rest of the model another one. Parameters are
// cut by their first dimension; a layer's are gathered when it runs, given back after its forward, and gathered again
// for its backward, one layer ahead. A layer's gradients go into one buffer that is reduced over the ranks.
// Source of the order of allocations: torch.distributed.fsdp in PyTorch 2.7.

#include <deque>
#include <optional>
#include <vector>

#include "plan/eager/tape.h"

namespace memstrata::plan::eager {

class ShardedParameters {
 public:
  /// `parameters` lie on the host; each group is moved to the device and cut there. Where `widened` is given, parts and
  /// their gradients have it, and what is gathered has the parameters' own number format; else all have that.
  ShardedParameters(Tape& tape, std::deque<Parameter>& parameters, int64_t layer_count, int64_t rank_count,
                    std::optional<DType> widened);

  /// Around the forward of the whole model: what is outside of layers stays gathered until the backward is over.
  void BeginForward();
  void EndForward(const Tensor& loss);
  /// After it, each parameter is this rank's part again, with the gradient of the part.
  void EndBackward();
  Tensor EnterLayer(int64_t layer, const Tensor& input);
  void LeaveLayer(int64_t layer, const Tensor& output);

 private:
  struct Member {
    Parameter* parameter;
    Tensor whole;
    Tensor part;
    Tensor part_gradient;
    uint64_t part_bytes = 0;   // with the rows that only fill up
    uint64_t whole_bytes = 0;  // of all ranks' parts, as they are gathered
  };
  struct Group {
    std::vector<Member> members;
    Tensor gathered;  // the collective's buffer, until it is copied out
    bool is_whole = false;
    bool is_reduced = false;

    uint64_t WholeBytes() const;
  };

  void Cut(Group& group);
  void CutMember(Member& member);
  Tensor Buffer(uint64_t size_bytes, Category category);
  void StartGather(Group& group);
  void FinishGather(Group& group, bool is_forward);
  void GiveBack(Group& group);
  void Reduce(Group& group);
  void BeforeBackward(size_t index);

  Tape& tape_;
  int64_t rank_count_;
  std::optional<DType> widened_;
  std::vector<Group> layers_;
  Group rest_;
  Tensor last_gathered_;  // of the forward, kept while the next layer's is on its way
  Tensor reduced_;        // the input of the last reduction, kept until the next one
};

}  // namespace memstrata::plan::eager
