#pragma once
// What a judgement says. "Undecided" is an answer of its own: what was not measured well enough never passes.

#include <cstdint>
#include <string_view>

namespace memstrata::accept {

enum class Verdict : uint8_t { kPass, kFail, kUndecided };
inline constexpr std::string_view kVerdictNames[] = {"pass", "fail", "undecided"};

inline std::string_view VerdictName(Verdict verdict) { return kVerdictNames[static_cast<size_t>(verdict)]; }

/// Of two judgements that must both hold: a failure outweighs what is open, which outweighs a pass.
inline Verdict Both(Verdict a, Verdict b) {
  if (a == Verdict::kFail || b == Verdict::kFail) return Verdict::kFail;
  return a == Verdict::kUndecided || b == Verdict::kUndecided ? Verdict::kUndecided : Verdict::kPass;
}

}  // namespace memstrata::accept
