#include "analysis/marks/steep_fall.h"

namespace memstrata {

SteepFall FindSteepFall(const HeapAnalysis& analysis, uint32_t begin_seq, uint32_t end_seq) {
  const auto live_after = [&](uint32_t seq) { return analysis.live.At(Moment::AfterEvent(seq)); };
  SteepFall fall{begin_seq, begin_seq, begin_seq, 0};
  for (uint32_t seq = begin_seq; seq < end_seq; ++seq) {
    if (live_after(seq) > live_after(fall.begin_seq)) fall.begin_seq = seq;
  }
  const uint64_t highest = live_after(fall.begin_seq);
  fall.end_seq = fall.begin_seq;
  for (uint32_t seq = fall.begin_seq; seq < end_seq; ++seq) {
    if (live_after(seq) < live_after(fall.end_seq)) fall.end_seq = seq;
    fall.bytes = highest - live_after(fall.end_seq);
    if ((live_after(seq) - live_after(fall.end_seq)) * 3 > fall.bytes) break;
  }
  fall.middle_seq = fall.begin_seq;
  while (fall.middle_seq < fall.end_seq && (highest - live_after(fall.middle_seq)) * 2 < fall.bytes) ++fall.middle_seq;
  return fall;
}

}  // namespace memstrata
