#include "readers/reader.h"
#include "readers/torch_snapshot/torch_snapshot_reader.h"
#include "readers/xla/xplane_reader.h"

namespace memstrata {

std::span<const ReaderInfo* const> AllReaders() {
  static constexpr const ReaderInfo* kAll[] = {
      &torch_snapshot::kReader,
      &xla::kXPlaneReader,
  };
  return kAll;
}

}  // namespace memstrata
