#pragma once
// Why an allocation of PyTorch failed, from the figures of its message.

#include "oom/families/family.h"

namespace memstrata::oom {

/// Fills the report's figures, verdict, sentences and remedies.
void JudgeTorch(const Facts& facts, OomReport& report);

}  // namespace memstrata::oom
