#include "readers/pprof/pprof_reader.h"
#include "readers/reader.h"
#include "readers/torch_snapshot/torch_snapshot_reader.h"
#include "readers/xla/hlo_reader.h"
#include "readers/xla/text_readers.h"
#include "readers/xla/xplane_reader.h"

namespace memstrata {

std::span<const ReaderInfo* const> AllReaders() {
  static constexpr const ReaderInfo* kAll[] = {
      &torch_snapshot::kReader,    &xla::kXPlaneReader,       &xla::kHloReader,
      &xla::kAssignmentTextReader, &xla::kMemoryReportReader, &pprof::kReader,
  };
  return kAll;
}

}  // namespace memstrata
