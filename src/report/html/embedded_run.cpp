#include "report/html/embedded_run.h"

#include <fmt/format.h>

#include <numeric>

#include "base/units.h"
#include "report/html/run_frames.h"
#include "report/html/run_levels.h"

namespace memstrata {
namespace {

constexpr uint32_t kMostFigures = 400'000;  // of a run that is kept in part
constexpr uint32_t kFewestFigures = 64;
constexpr uint64_t kShareOfFigures = 4;  // one part of so many of the room is for them
constexpr uint64_t kAim = 97;            // per cent

class RunWriter {
 public:
  RunWriter(SessionIndex& session, HeapEntry& heap, uint64_t most_bytes, EmbeddedAnswers& answers)
      : session_(session), heap_(heap), answers_(answers), room_bytes_(most_bytes) {}

  /// False, and nothing is added, when it does not fit.
  bool Add(std::string_view question, std::string_view frame, uint64_t most_bytes) {
    const std::string packed = EmbeddedAnswers::PackFrame(frame);
    last_packed_bytes_ = packed.size();
    const Parameters parameters = Parameters().Set("heap", heap_.index);
    if (packed.size() > most_bytes || !answers_.AddPackedFrame(question, parameters, packed)) return false;
    room_bytes_ -= packed.size();
    return true;
  }

  void AddWhole(EmbeddedRun& kept, const std::vector<uint32_t>& rows) {
    kept.kept_blocks = kept.block_count;
    kept.kept_figures = kept.event_count;
    kept.lacks_addresses = !Add("run_addresses", AddressFrame(session_, heap_, rows), room_bytes_);
    kept.lacks_times = heap_.heap_index.Time().has_time() && !Add("run_times", TimesFrame(heap_), room_bytes_);
  }

  // Figures first: every event has them, though not all their own.
  void AddPart(EmbeddedRun& kept) {
    const uint64_t whole_bytes = last_packed_bytes_;
    for (uint32_t most = kMostFigures; most >= kFewestFigures; most /= 2) {
      if (!Add("run_levels", LevelsFrame(session_, heap_, most), room_bytes_ / kShareOfFigures)) continue;
      kept.kept_figures = std::min(most, kept.event_count);
      break;
    }
    uint64_t count = uint64_t{kept.block_count} * room_bytes_ / std::max<uint64_t>(1, whole_bytes);
    while (count > 0) {
      const std::vector<uint32_t> rows = WeightiestRows(heap_, count);
      if (Add("run", RunFrame(session_, heap_, rows), room_bytes_)) {
        kept.kept_blocks = static_cast<uint32_t>(rows.size());
        return;
      }
      // Heavy blocks have more of their own than most. Each try packs the file once more: aim a little below.
      count = std::min(count - 1, count * room_bytes_ / last_packed_bytes_ * kAim / 100);
    }
  }

 private:
  SessionIndex& session_;
  HeapEntry& heap_;
  EmbeddedAnswers& answers_;
  uint64_t room_bytes_;
  uint64_t last_packed_bytes_ = 0;
};

}  // namespace

EmbeddedRun AddRunOf(SessionIndex& session, HeapEntry& heap, uint64_t most_bytes, EmbeddedAnswers& answers) {
  EmbeddedRun kept{
      .heap_id = heap.heap.id, .block_count = heap.heap.allocations.size(), .event_count = heap.heap.events.size()};
  std::vector<uint32_t> rows(kept.block_count);
  std::iota(rows.begin(), rows.end(), heap.heap.allocations.begin);
  RunWriter writer(session, heap, most_bytes, answers);
  if (writer.Add("run", RunFrame(session, heap, rows), most_bytes)) {
    writer.AddWhole(kept, rows);
  } else {
    writer.AddPart(kept);
  }
  return kept;
}

std::vector<std::string> NotesOf(const EmbeddedRun& run) {
  std::vector<std::string> notes;
  constexpr std::string_view kHowToGet = "`memstrata report --full` keeps all, `memstrata open` shows the file itself.";
  if (!run.IsWhole()) {
    notes.push_back(fmt::format(
        "{}: the {} blocks of most bytes and events are kept of {}, and the figures of {} events of {}. Smaller blocks "
        "are drawn together, and a click on them pins none. {}",
        run.heap_id, FormatCount(run.kept_blocks), FormatCount(run.block_count), FormatCount(run.kept_figures),
        FormatCount(run.event_count), kHowToGet));
  }
  if (run.lacks_addresses)
    notes.push_back(
        fmt::format("{}: there was no room for the addresses of blocks; segments are held at a few events. {}",
                    run.heap_id, kHowToGet));
  if (run.lacks_times)
    notes.push_back(fmt::format("{}: there was no room for the times of events. {}", run.heap_id, kHowToGet));
  return notes;
}

}  // namespace memstrata
