#include "analysis/frames/fsdp_stacks.h"

#include "analysis/frames/stacks_through.h"

namespace memstrata {

std::vector<bool> FindFsdpStacks(const Store& store) {
  return FindStacksThrough(store, [](std::string_view file, std::string_view) {
    return file.find("torch/distributed/fsdp/") != std::string_view::npos;
  });
}

}  // namespace memstrata
