#pragma once
// Decoder-only language models (Llama, Mistral, Qwen, Gemma, Phi, GPT-2, GPT-NeoX, OPT …) as Hugging Face transformers
// 4.57 computes them.

#include <memory>

#include "plan/eager/model.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan::eager {

std::unique_ptr<EagerModel> MakeDecoder(Tape& tape, const DecoderSpec& spec, DType dtype,
                                        const AdapterOptions& adapters);

}  // namespace memstrata::plan::eager
