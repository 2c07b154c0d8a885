#include "analysis/frames/stacks_through.h"

namespace memstrata {

std::vector<bool> FindStacksThrough(const Store& store,
                                    bool (*is_wanted)(std::string_view file, std::string_view function)) {
  const FrameTable& frames = store.stacks.frames();
  std::vector<bool> is_wanted_frame(frames.size());
  for (uint32_t frame = 0; frame < frames.size(); ++frame)
    is_wanted_frame[frame] = is_wanted(store.String(frames.file[frame]), store.String(frames.function[frame]));
  const StackTable& stacks = store.stacks.stacks();
  std::vector<bool> goes_through(stacks.size(), false);
  for (uint32_t node = 1; node < stacks.size(); ++node)  // parents come first
    goes_through[node] = goes_through[stacks.parent[node].value] || is_wanted_frame[stacks.frame[node].value];
  return goes_through;
}

}  // namespace memstrata
