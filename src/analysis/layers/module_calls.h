#pragma once
// Which call of which module made each block, from call stacks: the chain of module calls, and, where a module calls
// others again and again in one forward (the layers of a ModuleList), the number of the call.
//
// Stacks name no instances. A repeated call is seen as a jump back in the calls of one forward (phases/loop_jumps.h);
// the n-th is the n-th layer, for layers run in order.

#include <string>
#include <vector>

#include "analysis/phases/phase.h"
#include "analysis/phases/python_calls.h"
#include "model/store/store.h"

namespace memstrata {

/// A part of a module path: a place from which a module was called, or the number of a repeated call below it.
struct ModuleScope {
  uint32_t parent = 0;     // index into scopes; 0 = none
  uint32_t node = 0;       // of PythonCalls: the calling place, or where calls repeat
  uint32_t index = kNone;  // number of the repeated call in its forward, from 0; kNone: a place
};

struct ModuleCalls {
  std::vector<ModuleScope> scopes;     // [0] stands for none
  std::vector<uint32_t> scope_of_row;  // [allocation row - heap.allocations.begin]; 0: no module made it

  /// The outermost numbered scope on the path of `scope`, 0 without one: its layer.
  uint32_t LayerOf(uint32_t scope) const;
};

/// Of blocks made in forwards and recomputes. cost: O(events + stack nodes + allocations · modules on the stack)
ModuleCalls FindModuleCalls(const Store& store, const Heap& heap, const Timeline& timeline, const PythonCalls& calls);

}  // namespace memstrata
