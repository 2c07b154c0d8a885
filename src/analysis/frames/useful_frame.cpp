#include "analysis/frames/useful_frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata {
namespace {

bool ContainsAny(std::string_view text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// Function names of frames that stand in every stack with C++ frames (spec of the official viewer's filter, widened by
// allocator internals and the boxing layers observed in real snapshots).
constexpr std::string_view kPlumbingFunctions[] = {
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "__libc_start",
    "PyEval_",
    "_PyEval_",
    "PyObject_",
    "_PyObject_",
    "PyFunction_",
    "_PyFunction_",
    "PyVectorcall_",
    "PyCFunction",
    "cfunction_",
    "PyRun_",
    "Py_RunMain",
    "Py_BytesMain",
    "pymain_",
    "run_mod",
    "method_vectorcall",
    "slot_tp_call",
    "_PyFunction_Vectorcall",
    "CUDACachingAllocator",
    "CachingAllocator",
    "at::detail::empty_",
    "at::native::empty_",
    "at::_ops::empty",
    "impl::BoxedKernelWrapper",
    "c10::Dispatcher",
    "c10::impl::wrap_kernel_functor",
    "call_functor_with_args",
    "make_boxed_from_unboxed",
    "std::thread::",
    "execute_native_thread_routine",
    "start_thread",
    "__clone",
    "clone3",
};
constexpr std::string_view kPlumbingFiles[] = {
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
    "CUDACachingAllocator",
    "Objects/",
    "Python/",
};
// Python functions that only call on: they stand between every module and its forward(), every optimizer and its
// step().
struct PythonPlumbing {
  std::string_view function;
  std::string_view file_end;
};
constexpr PythonPlumbing kPythonPlumbing[] = {
    {"_call_impl", "torch/nn/modules/module.py"},
    {"_wrapped_call_impl", "torch/nn/modules/module.py"},
    {"wrapper", "torch/optim/optimizer.py"},
    {"_use_grad", "torch/optim/optimizer.py"},
    {"_use_grad_for_differentiable", "torch/optim/optimizer.py"},
    {"decorate_context", "torch/utils/_contextlib.py"},
};

bool IsPythonPlumbing(std::string_view function, std::string_view file) {
  return std::any_of(std::begin(kPythonPlumbing), std::end(kPythonPlumbing), [&](const PythonPlumbing& known) {
    return function == known.function && file.ends_with(known.file_end);
  });
}

// Python code of the frameworks by its place in an installation.
constexpr std::string_view kFrameworkPaths[] = {
    "/torch/",         "/jax/_src/",    "/jaxlib/",
    "/flax/",          "/accelerate/",  "/transformers/",
    "/deepspeed/",     "/lightning/",   "/pytorch_lightning/",
    "/megatron/",      "/peft/",        "/diffusers/",
    "/timm/",          "/torchvision/", "/site-packages/",
    "/dist-packages/", "/runpy.py",     "/contextlib.py",
    "/threading.py",   "/functools.py",
};

// Folders of the C++ sources of PyTorch and CPython.
constexpr std::string_view kNativeFolders[] = {"/aten/", "/c10/", "/Objects/", "/Python/", "/Modules/"};

bool IsInsideOfCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Long names are paths of modules that begin alike; their ends tell them apart.
std::string WithoutMiddle(const std::string& name) {
  constexpr size_t kLongest = 80;
  constexpr size_t kHead = 12;
  if (name.size() <= kLongest) return name;
  size_t head = kHead;
  while (head > 0 && IsInsideOfCharacter(name[head])) --head;
  size_t tail = name.size() - (kLongest - 1 - kHead);
  while (tail < name.size() && IsInsideOfCharacter(name[tail])) ++tail;
  return name.substr(0, head) + "…" + name.substr(tail);
}

}  // namespace

bool IsAutogradNode(const Store& store, FrameId frame) {
  const std::string_view function = store.String(store.stacks.frames().function[frame.value]);
  const bool is_of_graph = function.find("Backward") != std::string_view::npos ||
                           function.find("AccumulateGrad::") != std::string_view::npos;
  return is_of_graph && function.find("::apply") != std::string_view::npos;
}

bool IsPythonFrame(const Store& store, FrameId frame) {
  const FrameKind kind = store.stacks.frames().kind[frame.value];
  return kind == FrameKind::kPython || kind == FrameKind::kCompiled;
}

bool IsPlumbing(const Store& store, FrameId frame) {
  const FrameTable& frames = store.stacks.frames();
  const std::string_view function = store.String(frames.function[frame.value]);
  const std::string_view file = store.String(frames.file[frame.value]);
  if (IsPythonFrame(store, frame))
    return file.starts_with("<frozen ") || file == "<string>" || IsPythonPlumbing(function, file);
  if (function == "_start" || (function.empty() && file.empty()) || function == "??") return true;
  // Symbols without debugging information have the bare name of their file.
  if (file.starts_with("Register")) return true;
  return ContainsAny(function, kPlumbingFunctions) || ContainsAny(file, kPlumbingFiles);
}

std::string_view FrameworkPart(std::string_view file) {
  // Where packages are installed, the last such folder decides: one above it may be called after a framework too.
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const size_t begin = file.rfind(folder); begin != std::string_view::npos) return file.substr(begin);
  }
  size_t begin = std::string_view::npos;
  for (const std::string_view folder : kFrameworkPaths) begin = std::min(begin, file.find(folder));
  for (const std::string_view folder : kNativeFolders) begin = std::min(begin, file.find(folder));
  return begin == std::string_view::npos ? std::string_view() : file.substr(begin);
}

bool IsFrameworkCode(const Store& store, FrameId frame) {
  const FrameTable& frames = store.stacks.frames();
  return ContainsAny(store.String(frames.file[frame.value]), kFrameworkPaths);
}

std::vector<FrameId> FramesOf(const Store& store, StackId stack) {
  const StackTable& stacks = store.stacks.stacks();
  std::vector<FrameId> frames;
  for (StackId at = stack; at.value != 0; at = stacks.parent[at.value]) frames.push_back(stacks.frame[at.value]);
  return frames;
}

size_t UsefulFrameIndex(const Store& store, const std::vector<FrameId>& frames) {
  const size_t none = frames.size();
  size_t not_plumbing = none;
  size_t python = none;
  size_t autograd_node = none;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (IsPlumbing(store, frames[i])) continue;
    if (not_plumbing == none) not_plumbing = i;
    if (IsPythonFrame(store, frames[i])) {
      if (python == none) python = i;
      if (!IsFrameworkCode(store, frames[i])) return i;
    } else if (autograd_node == none && IsAutogradNode(store, frames[i])) {
      autograd_node = i;
    }
  }
  // Backward runs on threads without Python frames: the node of the graph is the layer's name there.
  for (const size_t candidate : {python, autograd_node, not_plumbing}) {
    if (candidate != none) return candidate;
  }
  return 0;
}

FrameId UsefulFrame(const Store& store, StackId stack) {
  const std::vector<FrameId> frames = FramesOf(store, stack);
  return frames[UsefulFrameIndex(store, frames)];
}

std::string OperatorName(const Store& store, const std::vector<FrameId>& frames, size_t useful) {
  if (!IsPythonFrame(store, frames[useful]) || IsFrameworkCode(store, frames[useful])) return "";
  const FrameTable& table = store.stacks.frames();
  for (size_t i = 0; i < useful; ++i) {
    if (!IsPythonFrame(store, frames[i]) || IsPlumbing(store, frames[i])) continue;
    const std::string_view function = store.String(table.function[frames[i].value]);
    if (function.starts_with("__")) continue;  // "__torch_function__", "__init__": how Python got there
    if (function != "forward") return std::string(function);
    const std::string_view file = ShortPath(store.String(table.file[frames[i].value]), 1);
    return std::string(file.substr(0, file.rfind('.')));
  }
  return "";
}

std::string ShortFunctionName(std::string_view function) {
  // Template arguments and parameter lists out, at every depth.
  std::string flat;
  int depth = 0;
  for (const char c : function) {
    if (c == '<' || c == '(') ++depth;
    if (depth == 0) flat += c;
    if ((c == '>' || c == ')') && depth > 0) --depth;
  }
  if (flat.empty()) flat = function;
  for (const std::string_view prefix :
       {"torch::autograd::generated::", "torch::autograd::", "at::native::", "at::_ops::", "at::", "c10::"}) {
    const size_t at = flat.find(prefix);
    if (at != std::string::npos) {
      flat.erase(0, at + prefix.size());
      break;
    }
  }
  flat.erase(0, flat.find_first_not_of(": "));  // of anonymous namespaces
  return WithoutMiddle(flat);
}

std::string_view ShortPath(std::string_view path, size_t component_count) {
  size_t at = path.size();
  for (size_t i = 0; i < component_count; ++i) {
    if (at == 0) return path;
    const size_t slash = path.find_last_of("/\\", at - 1);
    if (slash == std::string_view::npos) return path;
    at = slash;
  }
  return path.substr(at + 1);
}

namespace {

std::string FrameName(const Store& store, FrameId frame) {
  const FrameTable& table = store.stacks.frames();
  const std::string function = ShortFunctionName(store.String(table.function[frame.value]));
  const std::string_view file = store.String(table.file[frame.value]);
  if (file.empty() || file == "??") return function;
  const uint32_t line = table.line[frame.value];
  return line == 0 ? fmt::format("{} ({})", function, ShortPath(file, 1))
                   : fmt::format("{} ({}:{})", function, ShortPath(file, 1), line);
}

bool IsModuleCall(const Store& store, FrameId frame) {
  const FrameTable& table = store.stacks.frames();
  return store.String(table.function[frame.value]).ends_with("_call_impl") &&
         FrameworkPart(store.String(table.file[frame.value])).ends_with("torch/nn/modules/module.py");
}

}  // namespace

std::string UsefulFrameName(const Store& store, StackId stack) {
  return stack.value == 0 ? "" : FrameName(store, UsefulFrame(store, stack));
}

std::string ModelCallerName(const Store& store, StackId stack) {
  if (stack.value == 0) return "";
  const std::vector<FrameId> frames = FramesOf(store, stack);
  size_t call = frames.size();  // the outermost call of a module
  while (call > 0 && !IsModuleCall(store, frames[call - 1])) --call;
  if (call == 0) return "";
  for (size_t i = call; i < frames.size(); ++i) {
    const bool is_own =
        IsPythonFrame(store, frames[i]) && !IsPlumbing(store, frames[i]) && !IsFrameworkCode(store, frames[i]);
    if (is_own) return frames[i] == UsefulFrame(store, stack) ? "" : FrameName(store, frames[i]);
  }
  return "";
}

}  // namespace memstrata
