#pragma once
// The exit status of the verbs that judge.

#include "accept/verdict.h"
#include "cli/subcommand.h"

namespace memstrata::cli {

/// Undecided is no "no": it is as if the answer could not be given.
inline int ExitStatusOf(accept::Verdict verdict) {
  switch (verdict) {
    case accept::Verdict::kPass:
      return kExitOk;
    case accept::Verdict::kFail:
      return kExitAnswerNo;
    case accept::Verdict::kUndecided:
      break;
  }
  return kExitError;
}

}  // namespace memstrata::cli
