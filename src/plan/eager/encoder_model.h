#pragma once
// BERT, RoBERTa, ViT, DeiT and CLIP as Hugging Face transformers 4.57 computes them.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/encoder_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeEncoder(Tape& tape, const EncoderSpec& spec, const ModelTensors& tensors, DType dtype,
                                        const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
