#pragma once
// Which frame of a stack tells a person something: their own code, or the operator, not the plumbing of interpreters,
// dispatchers and allocators.

#include <vector>

#include "model/store/store.h"

namespace memstrata {

/// Frames that are the same in every stack: interpreter, dispatcher, bindings, unwinder, allocator internals.
bool IsPlumbing(const Store& store, FrameId frame);
bool IsPythonFrame(const Store& store, FrameId frame);
/// torch::autograd::generated::MmBackward0::apply and the like.
bool IsAutogradNode(const Store& store, FrameId frame);
/// Frames of the framework's own Python code (torch/…, jax/…), which call user code and are called by it.
bool IsFrameworkCode(const Store& store, FrameId frame);
/// A file of a framework, its C++ sources included, from the framework's folder on: "/torch/nn/functional.py". Empty
/// for every other file.
std::string_view FrameworkPart(std::string_view file);

/// The frames of a stack, innermost first.
std::vector<FrameId> FramesOf(const Store& store, StackId stack);

/// Index into `frames` (innermost first) of the frame to name a stack by: the innermost one of the user's own Python
/// code, else of the framework's, else the autograd node, else the innermost that is not plumbing. `frames` must not be
/// empty.
size_t UsefulFrameIndex(const Store& store, const std::vector<FrameId>& frames);
/// That frame of a stack, which must not be the empty one.
FrameId UsefulFrame(const Store& store, StackId stack);

/// The framework's Python function that the user's frame `frames[useful]` called into and that allocated: "silu",
/// "cross_entropy"; a module's forward() goes by its file ("linear"). Empty when there is none: the user's own line
/// did.
std::string OperatorName(const Store& store, const std::vector<FrameId>& frames, size_t useful);

/// "function (file.py:12)" of the useful frame; empty for the empty stack.
std::string UsefulFrameName(const Store& store, StackId stack);

/// The same of the user's frame that called the outermost module of a stack; empty when the useful frame is that one or
/// there is no module call.
std::string ModelCallerName(const Store& store, StackId stack);

/// A native function name as people say it: without template arguments, parameters and common namespaces.
std::string ShortFunctionName(std::string_view function);
/// The last `component_count` parts of a path.
std::string_view ShortPath(std::string_view path, size_t component_count = 2);

}  // namespace memstrata
