#pragma once
// What a call stack alone says about the phase of an event.

#include <optional>
#include <vector>

#include "analysis/phases/phase.h"
#include "model/store/store.h"

namespace memstrata {

/// Evidence by stack node (index = stack id).
struct StackEvidence {
  /// The phase that the frames of a stack name; nothing where they name none. Calls that are made from one line of a
  /// program which itself names nothing share the phase that all other calls from that line have.
  std::vector<std::optional<Phase>> phase;
  /// The stack starts on another thread than the program's own: the autograd engine calling back into Python.
  std::vector<bool> is_engine_thread;
  /// The stack lies in the closure that an optimizer's step calls.
  std::vector<bool> is_in_closure;
  std::vector<bool> is_in_model;  // by stack: a module's forward is running
};

/// cost: O(stack nodes)
StackEvidence FindStackEvidence(const Store& store);

}  // namespace memstrata
