#pragma once
// T5 and its relatives (mT5, Flan-T5) as Hugging Face transformers 4.57 computes them: eager attention with a learned
// position bias.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/t5_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeT5(Tape& tape, const T5Spec& spec, DType dtype, const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
