#include "report/text/stack_text.h"

#include <fmt/format.h>

#include "analysis/frames/useful_frame.h"
#include "report/text/text_style.h"

namespace memstrata {
namespace {

constexpr size_t kPathParts = 2;

std::string DescribeFrame(const Store& store, FrameId frame, size_t path_parts) {
  const FrameTable& frames = store.stacks.frames();
  const std::string_view file = store.String(frames.file[frame.value]);
  const std::string function = ShortFunctionName(store.String(frames.function[frame.value]));
  if (file.empty() || frames.kind[frame.value] == FrameKind::kNative) return function;
  if (frames.line[frame.value] == 0) return fmt::format("{}  {}", function, ShortPath(file, path_parts));
  return fmt::format("{}  {}:{}", function, ShortPath(file, path_parts), frames.line[frame.value]);
}

}  // namespace

std::string DescribeStack(const Store& store, StackId stack, size_t width) {
  const std::vector<FrameId> frames = FramesOf(store, stack);
  const size_t useful = UsefulFrameIndex(store, frames);
  const std::string name = OperatorName(store, frames, useful);
  const std::string prefix = name.empty() ? "" : name + " in ";
  std::string text = prefix + DescribeFrame(store, frames[useful], kPathParts);
  if (DisplayWidth(text) > width) text = prefix + DescribeFrame(store, frames[useful], 1);
  // One caller of the user's own code tells which use of a shared function it is; half of it would tell nothing.
  for (size_t i = useful + 1; i < frames.size(); ++i) {
    if (!IsPythonFrame(store, frames[i]) || IsFrameworkCode(store, frames[i])) continue;
    const std::string caller = " ← " + DescribeFrame(store, frames[i], kPathParts);
    if (DisplayWidth(text) + DisplayWidth(caller) <= width) text += caller;
    break;
  }
  return Shorten(text, width);
}

std::string DescribeHolder(const Store& store, const Heap& heap, const Holder& holder, size_t width) {
  if (holder.is_other) return "everything else";
  if (!holder.name.empty()) return Shorten(holder.name, width);
  if (holder.is_preexisting) return Shorten("allocated before recording began, no stack", width);
  if (holder.stack.value != 0) return DescribeStack(store, holder.stack, width);
  if (store.HasXPlaneDetails(heap)) return "no operation recorded";
  return Shorten(
      heap.capabilities.has_stacks ? "no Python stack: autograd's own thread, most often" : "no stack recorded", width);
}

}  // namespace memstrata
