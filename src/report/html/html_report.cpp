#include "report/html/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/units.h"
#include "page/page.h"
#include "query/explain.h"
#include "query/mark_labels.h"
#include "query/program_space.h"
#include "report/html/embedded_run.h"
#include "report/unknown_share.h"

namespace memstrata {
namespace {

constexpr uint32_t kColumnCount = 1536;
constexpr uint32_t kCloseUpEvents = 16'384;
constexpr size_t kMostOutOfMemory = 5;
constexpr uint64_t kRowsOfHolders = 2000;       // what the page asks for
constexpr uint64_t kNodesOfFlame = 5000;        // what the page asks for
constexpr uint64_t kSpanLimit = 2000;           // what the page asks for
constexpr uint64_t kRunLimit = 2000;            // what the page asks for
constexpr uint64_t kProfileHolderLimit = 5000;  // what the page asks for
constexpr size_t kPackFromBytes = 2000;         // below that, packing saves nothing
constexpr uint32_t kLensEvents = 26;            // what the page asks for
constexpr uint32_t kRichEvents = 4'000'000;     // up to here, also pictures in other colours and moments of steps
constexpr size_t kMostMoments = 24;
constexpr uint64_t kMostRectangles = 20'000;      // what the page asks for
constexpr uint64_t kSmallestBlockFraction = 256;  // blocks below 1/256 of the peak are merged in the whole picture

constexpr uint64_t kShareOfDetails = 8;  // one part of so many is kept free for close-ups and moments

// A question and how to say that it was left out.
struct Wanted {
  std::string_view name;
  Parameters parameters;
  std::string_view kind;
};

class Embedder {
 public:
  Embedder(SessionIndex& session, uint64_t limit_bytes) : session_(session), answers_(limit_bytes) {}

  // An answer that does not exist (a document that this build does not write) is left out; the page says so where it is
  // missed.
  void Add(const Wanted& wanted) {
    if (answers_.Has(wanted.name, wanted.parameters)) return;
    const Result<Answer> answer = Ask(session_, wanted.name, wanted.parameters);
    if (!answer) return;
    const bool is_added =
        answer->type == Answer::Type::kFrame
            ? answers_.AddFrame(wanted.name, wanted.parameters, answer->body)
            : answers_.AddJson(wanted.name, wanted.parameters, answer->body,
                               answer->body.size() > kPackFromBytes ? Packing::kGzip : Packing::kPlain);
    if (!is_added) left_out_.insert(wanted.kind);
  }

  /// True when the run is in the file as a whole: the page makes all pictures and figures of its events itself.
  bool AddRun(HeapEntry& heap, uint64_t most_bytes) {
    runs_.push_back(AddRunOf(session_, heap, most_bytes, answers_));
    return runs_.back().IsWhole();
  }
  /// What is left for `heap_count` runs when a part is kept for what comes after them.
  uint64_t RoomForEachRun(uint64_t heap_count) const {
    return (answers_.RoomBytes() - answers_.RoomBytes() / kShareOfDetails) / heap_count;
  }

  std::string Finish() const {
    std::vector<std::string> notes;
    for (const EmbeddedRun& run : runs_) {
      for (std::string& note : NotesOf(run)) notes.push_back(std::move(note));
    }
    for (const std::string_view kind : left_out_)
      notes.push_back(fmt::format("To keep the file small, these are left out or incomplete: {}.", kind));
    return answers_.Finish(notes);
  }

 private:
  SessionIndex& session_;
  EmbeddedAnswers answers_;
  std::vector<EmbeddedRun> runs_;
  std::set<std::string_view> left_out_;
};

uint64_t PowerOfTwoBelow(uint64_t value) {
  uint64_t power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

// What the page shows of one heap. Later answers are the first to be left out.
class HeapReport {
 public:
  HeapReport(SessionIndex& session, HeapEntry& heap, Embedder& embedder)
      : session_(session),
        heap_(heap),
        embedder_(embedder),
        range_end_(heap.heap_index.range_end()),
        peak_seq_(heap.heap_index.LivePeak().moment.seq()),
        is_mostly_unknown_(IsMostlyUnknown(session, heap)) {}

  void AddPictures() {
    AddTiles("seq", 0, range_end_);
    if (peak_seq_ != kNone) AddMoment(peak_seq_);
    AddMoment(range_end_ - 1);
    AddHolders("stack");
    AddHolders("category");
    if (session_.store().HasXPlaneDetails(heap_.heap)) {
      embedder_.Add({"runs", Base().Set("begin", uint64_t{0}).Set("end", range_end_).Set("limit", kRunLimit),
                     "program runs against their plans"});
      AddProfileHolders();
    }
    embedder_.Add(
        {"spans", Base().Set("begin", uint64_t{0}).Set("end", range_end_).Set("limit", kSpanLimit), "recorded spans"});
  }
  void AddRun(uint64_t most_bytes) { is_whole_ = embedder_.AddRun(heap_, most_bytes); }
  void AddDetails() {
    AddAddressMap("category");
    if (is_mostly_unknown_) AddAddressMap("stack");
    if (const auto duration_ns = heap_.heap_index.Time().DurationNs())
      AddTiles("time", 0, static_cast<uint64_t>(*duration_ns) + 1);
    if (!is_whole_) AddParts();
  }
  bool IsWhole() const { return is_whole_; }
  bool IsRich() const { return range_end_ <= kRichEvents; }
  // What the page can be switched to: other colours and groupings. Of a whole run it lays the timeline out itself.
  void AddChoices() {
    for (const std::string_view by : {"function", "file", "module", "shape"}) AddHolders(by);
    if (!IsRich()) return;
    for (const std::string_view group : {"stack", "size", "lifetime"}) AddAddressMap(group);
    if (is_whole_) return;
    AddGrouped("category", "allocation");
    for (const std::string_view group : {"stack", "module", "file", "function", "size", "lifetime"})
      AddGrouped(group, "grouped");
  }
  void AddMoments(const std::vector<uint32_t>& seqs) {
    for (const uint32_t seq : seqs) AddMoment(seq);
  }

 private:
  Parameters Base() const { return Parameters().Set("heap", heap_.index); }

  // Of a run that is kept in part: close-ups of some ranges and the facts of some blocks and moments.
  void AddParts() {
    if (peak_seq_ != kNone) AddLens(peak_seq_);
    if (range_end_ > kCloseUpEvents && peak_seq_ != kNone) AddCloseUp(peak_seq_);
    const std::vector<uint32_t>& out_of_memory = heap_.heap_index.OutOfMemory();
    for (size_t i = 0; i < std::min(out_of_memory.size(), kMostOutOfMemory); ++i) {
      AddMoment(out_of_memory[i]);
      if (range_end_ > kCloseUpEvents) AddCloseUp(out_of_memory[i]);
    }
  }

  void AddTiles(std::string_view axis, uint64_t begin, uint64_t end) {
    const uint64_t columns = axis == "seq" ? std::min<uint64_t>(kColumnCount, end - begin) : kColumnCount;
    Parameters tile = Base().Set("axis", std::string(axis)).Set("begin", begin).Set("end", end).Set("columns", columns);
    embedder_.Add({"tile", Parameters(tile).Set("kind", "live_curve"), "curves"});
    const Parameters profile = tile;
    tile.Set("kind", "alloc_stack").Set("group", "category").Set("order", "grouped").Set("max_runs", uint64_t{20'000});
    tile.Set("min_bytes", SmallestBlock());
    embedder_.Add({"tile", tile, "single blocks in the timeline"});
    if (is_mostly_unknown_)
      embedder_.Add({"tile", Parameters(tile).Set("group", "stack"), "single blocks in the timeline, by stack"});
    if (session_.store().HasXPlaneDetails(heap_.heap)) {
      embedder_.Add({"tile", Parameters(profile).Set("kind", "xla_profile"), "memory profiles"});
    }
  }
  Parameters WholeRun() const {
    const uint64_t columns = std::min<uint64_t>(kColumnCount, range_end_);
    return Base().Set("axis", "seq").Set("begin", uint64_t{0}).Set("end", range_end_).Set("columns", columns);
  }
  uint64_t SmallestBlock() const { return PowerOfTwoBelow(heap_.heap_index.LivePeak().bytes / kSmallestBlockFraction); }
  void AddGrouped(std::string_view group, std::string_view order) {
    Parameters tile = WholeRun().Set("kind", "alloc_stack").Set("group", std::string(group));
    tile.Set("order", std::string(order)).Set("max_runs", uint64_t{20'000}).Set("min_bytes", SmallestBlock());
    embedder_.Add({"tile", tile, "the timeline in other colours"});
  }
  void AddAddressMap(std::string_view group) {
    const auto& rows = heap_.heap.allocations;
    if (rows.size() == 0 || session_.store().allocations.addr[rows.begin] == 0) return;
    Parameters tile = WholeRun().Set("kind", "address_map").Set("group", std::string(group));
    tile.Set("max_rects", kMostRectangles).Set("min_bytes", SmallestBlock());
    embedder_.Add({"tile", tile, "the address map"});
  }
  void AddProfileHolders() {
    const uint32_t seq = FindPeak(heap_.heap_index.Used().curve).moment.seq();
    if (seq == kNone) return;
    embedder_.Add({"profile_holders", Base().Set("seq", seq).Set("limit", kProfileHolderLimit),
                   "what was in use at the peak of a profile"});
  }
  void AddCloseUp(uint32_t seq) {
    const uint32_t begin = std::min(seq - std::min(seq, kCloseUpEvents / 2), range_end_ - kCloseUpEvents);
    AddTiles("seq", begin, begin + kCloseUpEvents);
  }
  // The few events that the page puts under a lens.
  void AddLens(uint32_t seq) {
    const uint32_t begin = seq - std::min(seq, kLensEvents / 2);
    AddTiles("seq", begin, std::min(range_end_, begin + kLensEvents));
  }
  void AddMoment(uint32_t seq) {
    embedder_.Add({"cursor", Base().Set("seq", seq), "moments"});
    const Parameters state = Base().Set("seq", seq);
    embedder_.Add({"state", Parameters(state).Set("group", "category"), "the state of the allocator"});
    if (is_mostly_unknown_)
      embedder_.Add({"state", Parameters(state).Set("group", "stack"), "the state of the allocator, by stack"});
  }
  void AddHolders(std::string_view by) {
    Parameters of_peak = Base().Set("of", "peak").Set("by", std::string(by));
    embedder_.Add({"flame", Parameters(of_peak).Set("root", "caller").Set("max_nodes", kNodesOfFlame), "flame graphs"});
    embedder_.Add({"holders", of_peak.Set("limit", kRowsOfHolders).Set("offset", uint64_t{0}), "tables of holders"});
  }

  SessionIndex& session_;
  HeapEntry& heap_;
  Embedder& embedder_;
  uint32_t range_end_;
  uint32_t peak_seq_;
  bool is_mostly_unknown_;
  bool is_whole_ = false;
};

void AddPrograms(SessionIndex& session, Embedder& embedder) {
  const std::vector<Program>& programs = session.store().programs;
  for (size_t index = 0; index < programs.size(); ++index) {
    for (const int64_t space : SpacesOf(programs[index])) {
      embedder.Add({"program", Parameters().Set("index", uint64_t{index}).Set("space", std::to_string(space)),
                    "plans of programs"});
    }
  }
}

// The pair that the page compares first: the main heaps of two sources, else the first two heaps.
void AddComparison(SessionIndex& session, Embedder& embedder) {
  const auto heaps = session.heaps();
  if (heaps.size() < 2) return;
  std::vector<HeapEntry*> main_heaps;  // one per source
  for (const auto& heap : heaps) {
    const auto known = std::find_if(main_heaps.begin(), main_heaps.end(),
                                    [&](const HeapEntry* entry) { return entry->heap.source == heap->heap.source; });
    if (known == main_heaps.end()) {
      main_heaps.push_back(heap.get());
    } else if (heap->heap_index.LivePeak().bytes > (*known)->heap_index.LivePeak().bytes) {
      *known = heap.get();
    }
  }
  const bool has_two_sources = main_heaps.size() >= 2;
  const uint32_t before = has_two_sources ? main_heaps[0]->index : 0;
  const uint32_t after = has_two_sources ? main_heaps[1]->index : 1;
  for (const std::string_view by : {"stack", "function", "category"}) {
    embedder.Add({"compare", Parameters().Set("before", before).Set("after", after).Set("by", std::string(by)),
                  "comparisons of two heaps"});
  }
}

// Of runs that are kept in part: the segments at the events that the labels point at.
void AddLabelledMoments(SessionIndex& session, std::vector<HeapReport>& heaps) {
  const auto needs_moments = [](const HeapReport& heap) { return heap.IsRich() && !heap.IsWhole(); };
  if (std::none_of(heaps.begin(), heaps.end(), needs_moments)) return;
  const ExplainAnswer& explained = session.Explained();
  for (size_t i = 0; i < std::min(heaps.size(), explained.heaps.size()); ++i) {
    if (!needs_moments(heaps[i])) continue;
    std::vector<uint32_t> seqs;
    for (const MarkLabel& label : LabelsOf(explained.heaps[i])) seqs.push_back(label.seqs.front());
    for (const StepExplained& step : explained.heaps[i].steps) seqs.push_back(step.span.begin_seq);
    if (seqs.size() > kMostMoments) seqs.resize(kMostMoments);
    heaps[i].AddMoments(seqs);
  }
}

}  // namespace

Status WriteHtmlReport(SessionIndex& session, const HtmlReportOptions& options, ByteSink& sink) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string empty_page, SingleFilePage("{}"));
  constexpr uint64_t kRoomForNotes = 20'000;
  const uint64_t limit_bytes = options.full ? std::numeric_limits<uint64_t>::max() : options.limit_bytes;
  Embedder embedder(session, limit_bytes - std::min<uint64_t>(limit_bytes, empty_page.size() + kRoomForNotes));
  for (const std::string_view name : {"session", "summary", "explain", "oom", "ledger", "acceptance"})
    embedder.Add({name, {}, name});
  std::vector<HeapReport> heaps;
  for (const auto& heap : session.heaps()) heaps.emplace_back(session, *heap, embedder);
  for (HeapReport& heap : heaps) heap.AddPictures();
  AddComparison(session, embedder);
  if (session.store().sources.size() > 1) embedder.Add({"ranks", {}, "the comparison of ranks"});
  AddPrograms(session, embedder);
  for (size_t i = 0; i < heaps.size(); ++i) heaps[i].AddRun(embedder.RoomForEachRun(heaps.size() - i));
  for (HeapReport& heap : heaps) heap.AddDetails();
  for (HeapReport& heap : heaps) heap.AddChoices();
  AddLabelledMoments(session, heaps);
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string document, SingleFilePage(embedder.Finish()));
  return sink.Write(document);
}

}  // namespace memstrata
