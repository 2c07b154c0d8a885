#pragma once
// DeBERTa (v2, v3) with the head of a masked language model, as Hugging Face transformers 4.57 computes it.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/deberta_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeDeberta(Tape& tape, const DebertaSpec& spec, const ModelTensors& tensors, DType dtype,
                                        const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
