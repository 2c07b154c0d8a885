#pragma once
// The timeline of the heap with the highest peak as a picture: live memory by category over the events, reserved
// memory, the peak and each out of memory. Drawn without a browser; text stays text.

#include "base/byte_sink.h"
#include "query/session_index.h"

namespace memstrata {

/// errors: kNotFound when the session has no heap; kIo   cost: one tile
Status WriteTimelineSvg(SessionIndex& session, ByteSink& sink);

}  // namespace memstrata
