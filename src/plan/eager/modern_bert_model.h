#pragma once
// ModernBERT with the head of a masked language model, as Hugging Face transformers 4.57 computes it.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/modern_bert_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeModernBert(Tape& tape, const ModernBertSpec& spec, const ModelTensors& tensors,
                                           DType dtype, const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
