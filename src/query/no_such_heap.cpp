#include "query/no_such_heap.h"

#include <fmt/format.h>

namespace memstrata {

tl::unexpected<Error> NoSuchHeap(const Store& store, std::string_view id) {
  std::string known;
  for (const Heap& heap : store.heaps) known += fmt::format("{}{}", known.empty() ? "" : ", ", heap.id);
  return Fail(ErrorCode::kInvalidArgument,
              known.empty() ? fmt::format("There is no heap \"{}\": the file holds none.", id)
                            : fmt::format("There is no heap \"{}\"; the file holds: {}.", id, known));
}

}  // namespace memstrata
