#pragma once
// Steps of decoders of very many layers. A layer does as the one before it, so two shorter models of the same kind tell
// what each further layer adds.

#include <functional>

#include "plan/eager/simulation.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

/// True where simulating every layer would take seconds for nothing.
bool IsDeep(const DecoderSpec& spec);

using SpecSimulator =
    std::function<eager::SimulationResult(const DecoderSpec& spec, const eager::SimulationOptions& options)>;

/// The step of a deep model, continued from its first layers. `options` may limit the device: a result beyond it has
/// run out of memory. cost: that of two models of about a hundred layers
eager::SimulationResult SimulateDeep(const DecoderSpec& spec, const eager::SimulationOptions& options,
                                     const SpecSimulator& simulate);

}  // namespace memstrata::plan
