#include "analysis/program_runs/program_runs.h"

#include <algorithm>
#include <map>

#include "analysis/program_runs/program_finder.h"
#include "base/column.h"
#include "index/extremes.h"

namespace memstrata {
namespace {

class RunFinder {
 public:
  RunFinder(const Store& store, const Heap& heap)
      : store_(store), heap_(heap), details_(store.xplane.events), programs_(store) {
    for (const Program& program : store.programs) plans_.push_back(PlanOf(program));
  }

  std::vector<ProgramRun> Run() {
    FindLaunches();
    if (runs_.empty()) FindDeviceRuns();
    if (runs_.empty()) return {};
    AddUpLive();
    Column<uint64_t> used;
    for (uint32_t row = heap_.events.begin; row < heap_.events.end; ++row)
      used.PushBack(details_.stack_bytes[row] + details_.heap_bytes[row]);
    const RangeExtremes extremes(used.span());
    for (size_t i = 0; i < runs_.size(); ++i) Measure(runs_[i], own_seqs_[i], extremes);
    return std::move(runs_);
  }

 private:
  uint32_t Row(uint32_t seq) const { return heap_.events.begin + seq; }

  // Gives each event of the heap to the launch of its own thread that it lies in.
  void FindLaunches() {
    std::map<uint32_t, std::vector<uint32_t>> launches_of_line;
    for (uint32_t i = 0; i < store_.xplane.launches.size(); ++i) {
      if (store_.xplane.launches[i].source == heap_.source)
        launches_of_line[store_.xplane.launches[i].line].push_back(i);
    }
    if (launches_of_line.empty()) return;
    std::map<uint32_t, std::vector<uint32_t>> seqs_of_launch;
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      const auto line = launches_of_line.find(details_.line[Row(seq)]);
      if (line == launches_of_line.end()) continue;
      const int64_t time_ps = details_.time_ps[Row(seq)];
      const auto after = std::upper_bound(
          line->second.begin(), line->second.end(), time_ps,
          [&](int64_t time, uint32_t launch) { return time < store_.xplane.launches[launch].begin_ps; });
      if (after == line->second.begin()) continue;
      if (time_ps <= store_.xplane.launches[*std::prev(after)].end_ps) seqs_of_launch[*std::prev(after)].push_back(seq);
    }
    for (auto& [launch, seqs] : seqs_of_launch) AddLaunch(store_.xplane.launches[launch], std::move(seqs));
  }

  void AddLaunch(const XPlaneLaunch& launch, std::vector<uint32_t> seqs) {
    ProgramRun run;
    run.name = store_.String(launch.module);
    run.begin_ps = launch.begin_ps;
    run.end_ps = launch.end_ps;
    run.begin_seq = seqs.front();
    run.end_seq = seqs.back() + 1;
    SetProgram(launch.program_id, run);
    runs_.push_back(std::move(run));
    own_seqs_.push_back(std::move(seqs));
  }

  // "/device:TPU:3" runs what the heap of device 3 shows.
  void FindDeviceRuns() {
    if (heap_.kind != HeapKind::kDevice) return;
    const std::string number = ":" + std::to_string(heap_.device);
    const int64_t* const times = details_.time_ps.span().data();
    for (const XPlaneModule& module : store_.xplane.modules) {
      if (module.source != heap_.source || !store_.String(module.plane).ends_with(number)) continue;
      ProgramRun run;
      run.name = store_.String(module.name);
      run.is_on_device = true;
      run.begin_ps = module.line_begin_ps + module.offset_ps;
      run.end_ps = run.begin_ps + module.duration_ps;
      const auto seq_of = [&](const int64_t* at) { return static_cast<uint32_t>(at - times) - heap_.events.begin; };
      run.begin_seq = seq_of(std::lower_bound(times + heap_.events.begin, times + heap_.events.end, run.begin_ps));
      run.end_seq = seq_of(std::upper_bound(times + heap_.events.begin, times + heap_.events.end, run.end_ps));
      if (run.end_seq == 0) continue;  // before the first event nothing is known
      SetProgram({}, run);
      runs_.push_back(std::move(run));
      own_seqs_.emplace_back();
    }
    // Sorted together with their (empty) lists of events.
    std::stable_sort(runs_.begin(), runs_.end(),
                     [](const ProgramRun& a, const ProgramRun& b) { return a.begin_ps < b.begin_ps; });
  }

  void SetProgram(std::optional<uint64_t> id, ProgramRun& run) const {
    const ProgramFinder::Found found = programs_.Find(run.name, id, heap_.source);
    run.program = found.program;
    run.match = found.match;
    if (run.program != kNone) {
      run.name = store_.programs[run.program].label;
      run.plan = plans_[run.program].bytes;
    }
  }

  // Live bytes of the heap after each event, of blocks from before the recording and of recorded ones.
  void AddUpLive() {
    const AllocationTable& table = store_.allocations;
    std::vector<int64_t> before(heap_.events.size() + 1, 0);
    std::vector<int64_t> recorded(heap_.events.size() + 1, 0);
    for (uint32_t block = heap_.allocations.begin; block < heap_.allocations.end; ++block) {
      if ((table.flags[block] & kReservedStack) != 0) continue;  // ProgramRun::stack_bytes
      std::vector<int64_t>& change = table.alloc_seq[block] == kNone ? before : recorded;
      const auto size = static_cast<int64_t>(table.size_bytes[block]);
      change[table.alloc_seq[block] == kNone ? 0 : table.alloc_seq[block]] += size;
      if (table.free_seq[block] != kNone) change[table.free_seq[block]] -= size;
    }
    int64_t before_bytes = 0;
    int64_t recorded_bytes = 0;
    for (uint32_t seq = 0; seq < heap_.events.size(); ++seq) {
      before_live_.PushBack(before_bytes += before[seq]);
      recorded_live_.PushBack(recorded_bytes += recorded[seq]);
    }
  }

  void Measure(ProgramRun& run, const std::vector<uint32_t>& own_seqs, const RangeExtremes& extremes) const {
    run.high_seq = run.begin_seq < run.end_seq ? extremes.Find(run.begin_seq, run.end_seq).max_index : run.end_seq - 1;
    run.stack_bytes = details_.stack_bytes[Row(run.high_seq)];
    run.heap_bytes = details_.heap_bytes[Row(run.high_seq)];
    AddOwnBlocks(run, own_seqs);
    const int64_t recorded_bytes = recorded_live_[run.high_seq];
    run.before_recording_bytes = static_cast<uint64_t>(before_live_[run.high_seq]);
    run.other_bytes = static_cast<uint64_t>(recorded_bytes) - run.own_bytes();
    run.not_recorded_bytes =
        static_cast<int64_t>(run.heap_bytes - static_cast<uint64_t>(recorded_bytes) - run.before_recording_bytes);
  }

  void AddOwnBlocks(ProgramRun& run, const std::vector<uint32_t>& own_seqs) const {
    if (run.is_on_device) return;
    static const ProgramPlan kNoPlan;
    PlanMatcher matcher(run.program == kNone ? kNoPlan : plans_[run.program]);
    const AllocationTable& table = store_.allocations;
    for (const uint32_t seq : own_seqs) {
      const uint32_t block = store_.events.allocation[Row(seq)];
      if (store_.events.kind[Row(seq)] != EventKind::kAlloc || block == kNone) continue;
      const uint64_t size = table.size_bytes[block];
      const uint64_t requested = details_.requested_bytes[Row(seq)];
      const PlanMatcher::Role role = matcher.Take(requested, size);
      if (seq > run.high_seq || table.free_seq[block] <= run.high_seq) continue;  // not live at the highest moment
      if (requested < size) run.rounding_bytes += size - requested;
      switch (role) {
        case PlanMatcher::Role::kTemp:
          run.own_temp_bytes += size;
          break;
        case PlanMatcher::Role::kOutput:
          run.own_output_bytes += size;
          break;
        case PlanMatcher::Role::kUnplanned:
          run.own_unplanned_bytes += size;
          break;
      }
    }
    run.unallocated_bytes = matcher.left_bytes();
  }

  const Store& store_;
  const Heap& heap_;
  const XPlaneEventTable& details_;
  ProgramFinder programs_;
  std::vector<ProgramPlan> plans_;  // by program
  std::vector<ProgramRun> runs_;
  std::vector<std::vector<uint32_t>> own_seqs_;  // by run
  Column<int64_t> before_live_;                  // by event
  Column<int64_t> recorded_live_;
};

}  // namespace

std::vector<ProgramRun> FindProgramRuns(const Store& store, const Heap& heap) { return RunFinder(store, heap).Run(); }

}  // namespace memstrata
