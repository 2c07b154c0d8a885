#pragma once
// Routed experts as the classes of transformers 4.57 run them one after another: each on copies of the tokens that
// chose it. Which tokens these are depends on values; every expert is given its equal share, and what is kept for the
// backward is the same for any other shares.

#include <vector>

#include "plan/eager/layers.h"

namespace memstrata::plan::eager {

/// The list with a linear layer for each expert, which is how the classes register them.
std::vector<ParameterSpec> WithSingleExperts(const std::vector<ParameterSpec>& parameters);

class ExpertMlp {
 public:
  ExpertMlp(ParameterSet& parameters, const std::string& prefix, const DecoderSpec& spec);

  /// [batch, tokens, hidden] → the same.
  Tensor operator()(Tape& tape, const Tensor& x) const;

 private:
  struct Expert {
    LinearLayer gate, up, down;
  };

  Tensor RunExpert(Tape& tape, const Expert& expert, const Tensor& x) const;
  Tensor Route(Tape& tape, const Tensor& x) const;

  ExpertSpec spec_;
  ActivationKind activation_;
  LinearLayer router_, shared_gate_;
  Expert shared_;
  std::vector<Expert> experts_;
};

}  // namespace memstrata::plan::eager
