#pragma once
// BART, mBART, Pegasus and Marian as Hugging Face transformers 4.57 computes them.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/bart_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeBart(Tape& tape, const BartSpec& spec, const ModelTensors& tensors, DType dtype,
                                     const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
