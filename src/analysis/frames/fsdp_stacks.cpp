#include "analysis/frames/fsdp_stacks.h"

namespace memstrata {

std::vector<bool> FindFsdpStacks(const Store& store) {
  const FrameTable& frames = store.stacks.frames();
  std::vector<bool> is_of_fsdp(frames.size());
  for (uint32_t frame = 0; frame < frames.size(); ++frame)
    is_of_fsdp[frame] = store.String(frames.file[frame]).find("torch/distributed/fsdp/") != std::string_view::npos;
  const StackTable& stacks = store.stacks.stacks();
  std::vector<bool> goes_through(stacks.size(), false);
  for (uint32_t node = 1; node < stacks.size(); ++node)  // parents come first
    goes_through[node] = goes_through[stacks.parent[node].value] || is_of_fsdp[stacks.frame[node].value];
  return goes_through;
}

}  // namespace memstrata
