#pragma once
// Compiled XLA programs: HloProto files (*.hlo_proto.pb, *.hlo.pb of --xla_dump_to).

#include "readers/reader.h"

namespace memstrata::xla {

extern const ReaderInfo kHloReader;

}  // namespace memstrata::xla
