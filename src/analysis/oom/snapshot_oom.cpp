#include "analysis/oom/snapshot_oom.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/fragmentation/remedies.h"
#include "analysis/growth/growth_pass.h"
#include "analysis/growth/kept_evaluation_pass.h"
#include "base/units.h"
#include "sim/recorded_state.h"

namespace memstrata {
namespace {

constexpr size_t kTopHolders = 10;
// With this much of the room live, the device is full, whatever lies idle in pieces.
constexpr double kFullShare = 0.9;

uint64_t MinusOr0(uint64_t a, uint64_t b) { return a - std::min(a, b); }

class FailureExplainer {
 public:
  FailureExplainer(const HeapAnalysis& analysis, const std::optional<ReplayedRemedies>& replayed, uint32_t seq,
                   bool tries_order)
      : analysis_(analysis),
        store_(*analysis.store),
        heap_(*analysis.heap),
        replayed_(replayed),
        seq_(seq),
        tries_order_(tries_order) {}

  SnapshotOom Explain() {
    TakeFigures();
    if (const std::string problem = Contradiction(); !problem.empty()) {
      Refuse(problem);
      return std::move(failure_);
    }
    DecideVerdict();
    NameWhatIsLeftBehind();
    AddSmallestChanges();
    std::stable_sort(failure_.report.remedies.begin(), failure_.report.remedies.end(),
                     [](const OomRemedy& a, const OomRemedy& b) { return a.bytes < b.bytes; });
    failure_.replay_begin = failure_.report.remedies.size();
    AddReplays();
    if (tries_order_) AddOrder();
    return std::move(failure_);
  }

 private:
  void TakeFigures() {
    const uint32_t row = store_.EventRow(heap_, seq_);
    const Moment at = Moment::AfterEvent(seq_);
    const sim::AllocatorSettings settings = sim::RecordedSettings(store_, heap_);
    block_bytes_ = std::max(settings.rounding.BlockBytes(store_.events.size_bytes[row]), uint64_t{512});
    stream_ = store_.events.stream[row];
    fragmentation_ = FindFragmentation(store_, heap_, at, block_bytes_);
    OomReport& report = failure_.report;
    failure_.heap = &heap_;
    failure_.seq = seq_;
    failure_.reserved_bytes = fragmentation_.reserved_bytes;
    std::copy(std::begin(fragmentation_.kind_bytes), std::end(fragmentation_.kind_bytes), failure_.idle_kind_bytes);
    report.kind = "torch";
    report.format = "torch_snapshot";
    report.requested_bytes = store_.events.size_bytes[row];
    if (store_.events.addr[row] != kUnknownBytes) report.free_bytes = store_.events.addr[row];
    report.live_bytes = analysis_.live.At(at);
    failure_.holders = FindHolders(store_, heap_, analysis_.categories, at, HolderKey::kStack, kTopHolders);
    if (!heap_.capabilities.has_segments && heap_.segments.size() == 0) return;
    report.idle_bytes = fragmentation_.idle_bytes;
    report.largest_hole_bytes = fragmentation_.largest_hole_bytes;
    report.private_pool_bytes = fragmentation_.kind_bytes[static_cast<size_t>(HoleKind::kPrivatePool)];
    driver_bytes_ = DriverBytes(settings);
    if (report.free_bytes && *report.free_bytes < driver_bytes_)
      report.short_by_bytes = driver_bytes_ - *report.free_bytes;
  }

  // Counters of the driver overflow, or are of another device than the one that PyTorch may use.
  std::string Contradiction() const {
    const OomReport& report = failure_.report;
    constexpr uint64_t kNoDeviceHas = uint64_t{1} << 50;
    const uint64_t free_bytes = report.free_bytes.value_or(0);
    if (free_bytes >= kNoDeviceHas)
      return fmt::format("{} free is more than any device has (a missing or overflowed counter)",
                         FormatBytes(free_bytes));
    if (analysis_.device.capacity_bytes != kUnknownBytes && free_bytes > analysis_.device.capacity_bytes)
      return fmt::format("{} free is more than the device's {}", FormatBytes(free_bytes),
                         FormatBytes(analysis_.device.capacity_bytes));
    return "";
  }

  void Refuse(const std::string& problem) {
    OomReport& report = failure_.report;
    report.verdict = OomVerdict::kContradictory;
    failure_.cause =
        fmt::format("The recorded counters cannot all be true: {}. Nothing is concluded from them.", problem);
    report.text = fmt::format("PyTorch asked for {} and did not get it. {}", FormatBytes(*report.requested_bytes),
                              failure_.cause);
  }

  // What grows until it fails is the cause; all else puts the failure off.
  void NameWhatIsLeftBehind() {
    std::vector<Finding> causes = ReportKeptEvaluation(analysis_);
    if (analysis_.growth.kind == GrowthKind::kLeak) causes = ReportGrowth(analysis_);
    if (!causes.empty()) failure_.report.text += " " + causes.front().text + " What follows puts the failure off only.";
  }

  // What the driver was asked for: a segment, or the pages that were missing behind the last free ones.
  uint64_t DriverBytes(const sim::AllocatorSettings& settings) const {
    if (!settings.expandable_segments) return sim::SegmentBytes(block_bytes_);
    const bool small = block_bytes_ <= sim::kSmallRequestBytes;
    const uint64_t page_bytes = small ? sim::kSmallSegmentBytes : sim::kMediumSegmentBytes;
    return (block_bytes_ + page_bytes - 1) / page_bytes * page_bytes;
  }

  void DecideVerdict() {
    OomReport& report = failure_.report;
    FindCause();
    report.text = fmt::format("PyTorch asked for {}", FormatBytes(*report.requested_bytes));
    // The device is asked for whole segments, not for the request.
    if (driver_bytes_ > block_bytes_)
      report.text += fmt::format(", for which its allocator takes {} from the device,", FormatBytes(driver_bytes_));
    if (report.free_bytes) report.text += fmt::format(" and the device had {} free", FormatBytes(*report.free_bytes));
    if (report.short_by_bytes) report.text += fmt::format(": short by {}", FormatBytes(*report.short_by_bytes));
    report.text += ". " + failure_.cause;
  }

  void FindCause() {
    OomReport& report = failure_.report;
    const uint64_t room_bytes = fragmentation_.reserved_bytes + report.free_bytes.value_or(0);
    if (report.free_bytes && block_bytes_ > room_bytes) {
      report.verdict = OomVerdict::kTooLarge;
      failure_.cause = fmt::format("That is more than all this process could have, {}.", FormatBytes(room_bytes));
      return;
    }
    const uint64_t usable_idle_bytes = MinusOr0(fragmentation_.idle_bytes, report.private_pool_bytes.value_or(0));
    // A segment is larger than a small request: that the device had room for the request alone is no fragmentation.
    const bool is_enough =
        usable_idle_bytes >= block_bytes_ || report.free_bytes.value_or(0) + usable_idle_bytes >= driver_bytes_;
    const double live_share =
        room_bytes == 0 ? 1 : static_cast<double>(fragmentation_.block_bytes) / static_cast<double>(room_bytes);
    if (is_enough && live_share < kFullShare) {
      report.verdict = OomVerdict::kFragmented;
      failure_.cause =
          fmt::format("{} is reserved and idle in {}, the largest {}", FormatBytes(fragmentation_.idle_bytes),
                      FormatCount(fragmentation_.hole_count, "hole"), FormatBytes(fragmentation_.largest_hole_bytes));
      failure_.cause += fragmentation_.pinned_bytes == 0 ? "."
                                                         : fmt::format(": {} of live blocks pin {} of segments.",
                                                                       FormatBytes(fragmentation_.pinning_bytes),
                                                                       FormatBytes(fragmentation_.pinned_bytes));
      if (report.free_bytes >= block_bytes_)
        failure_.cause += " What was free would have held the request itself; a segment is larger, and did not fit.";
    } else if (report.free_bytes >= driver_bytes_ && driver_bytes_ > 0) {
      report.verdict = OomVerdict::kCap;
      failure_.cause =
          "The device had enough free: a limit of the process itself refused it "
          "(torch.cuda.set_per_process_memory_fraction), or the free memory was not to be had.";
    } else if (report.free_bytes && *report.free_bytes >= block_bytes_) {
      report.verdict = OomVerdict::kFull;
      failure_.cause = fmt::format("The device had room for the request, but not for its segment of {}; {} is idle.",
                                   FormatBytes(driver_bytes_), FormatBytes(fragmentation_.idle_bytes));
    } else {
      report.verdict = OomVerdict::kFull;
      failure_.cause = fmt::format("Live memory fills what there is: {} of {} ({}), {} idle.",
                                   FormatBytes(fragmentation_.block_bytes), FormatBytes(room_bytes),
                                   FormatPercent(live_share), FormatBytes(fragmentation_.idle_bytes));
    }
  }

  void AddSmallestChanges() {
    OomReport& report = failure_.report;
    if (report.verdict == OomVerdict::kTooLarge) return;
    if (report.short_by_bytes) {
      report.remedies.push_back({fmt::format("{} more free on the device: a smaller neighbour, or segments given back.",
                                             FormatBytes(*report.short_by_bytes)),
                                 *report.short_by_bytes, RemedyBasis::kComputed, true});
    }
    const uint64_t driver_bytes = report.free_bytes.value_or(0) / sim::kLargeStepBytes * sim::kLargeStepBytes;
    const uint64_t possible_bytes = std::max(driver_bytes, LargestHoleOnStream());
    if (report.free_bytes && possible_bytes > 0 && possible_bytes < block_bytes_) {
      AddSmallerRequest(possible_bytes);
    }
    const HeapState state = StateAt(store_, heap_, Moment::AfterEvent(seq_));
    const auto clearing = CheapestClearing(store_, state, stream_, block_bytes_);
    if (clearing && clearing->live_bytes < block_bytes_) {
      report.remedies.push_back(
          {fmt::format("{} ({}) less in one segment: it then has a hole for the request.",
                       FormatCount(clearing->block_count, "live block"), FormatBytes(clearing->live_bytes)),
           clearing->live_bytes, state.is_approximate ? RemedyBasis::kAssumed : RemedyBasis::kComputed, true});
    }
  }

  // A request of the layers is as large as the batch makes it; nobody can ask for less of a weight or of its state.
  void AddSmallerRequest(uint64_t possible_bytes) {
    const Phase phase = analysis_.timeline.phase_of_event[seq_];
    const bool is_of_batch = IsForwardOrEval(phase) || IsBackward(phase);
    if (!is_of_batch && phase != Phase::kOther) return;
    const uint64_t less_bytes = block_bytes_ - possible_bytes;
    const double share = static_cast<double>(less_bytes) / static_cast<double>(block_bytes_);
    failure_.report.remedies.push_back(
        {fmt::format("Ask for {} at most{}.", FormatBytes(possible_bytes),
                     is_of_batch
                         ? fmt::format(": {} less, as of a smaller batch or shorter sequences", FormatPercent(share))
                         : ""),
         less_bytes, RemedyBasis::kComputed, true});
  }

  // Largest hole that the request could have had if it were smaller: of its stream and the large pool.
  uint64_t LargestHoleOnStream() const {
    const HeapState state = StateAt(store_, heap_, Moment::AfterEvent(seq_));
    uint64_t largest_bytes = 0;
    for (const StateHole& hole : state.holes) {
      const StateSegment& segment = state.segments[hole.segment];
      const bool is_private = segment.pool != kNone && store_.pools[segment.pool].is_private();
      const bool is_small = segment.kind == SegmentKind::kSmall;
      if (segment.stream == stream_ && !is_private && !is_small)
        largest_bytes = std::max(largest_bytes, hole.size_bytes);
    }
    return largest_bytes;
  }

  const sim::FailureOutcome* OutcomeOf(const sim::Outcome& outcome) const {
    for (const sim::FailureOutcome& failure : outcome.failures) {
      if (failure.seq == seq_) return &failure;
    }
    return nullptr;
  }

  void AddReplays() {
    if (!replayed_ || failure_.report.verdict == OomVerdict::kTooLarge) return;
    const RemedyBasis basis = replayed_->is_faithful ? RemedyBasis::kComputed : RemedyBasis::kAssumed;
    for (const ReplayedRemedy& remedy : replayed_->remedies) {
      const sim::FailureOutcome* outcome = OutcomeOf(remedy.outcome);
      if (outcome == nullptr) continue;
      const bool fits = Fits(remedy.outcome, seq_);
      failure_.report.remedies.push_back(
          {fmt::format("{}, by replay: {} reserved instead of {}{}.", remedy.setting,
                       FormatBytes(outcome->reserved_bytes), FormatBytes(fragmentation_.reserved_bytes),
                       fits ? ", the request included" : ""),
           SavedBytes(outcome->reserved_bytes), basis, fits});
    }
  }

  // Nothing where more is reserved than was.
  std::optional<uint64_t> SavedBytes(uint64_t reserved_bytes) const {
    if (reserved_bytes >= fragmentation_.reserved_bytes) return std::nullopt;
    return fragmentation_.reserved_bytes - reserved_bytes;
  }

  // The blocks that stay allocated before everything else: they no longer lie between holes.
  void AddOrder() {
    if (!replayed_ || failure_.report.verdict != OomVerdict::kFragmented) return;
    sim::WhatIf what_if{sim::RecordedSettings(store_, heap_), sim::RecordedLimit(store_, heap_)};
    what_if.long_lived_first_seq = seq_;
    what_if.end_seq = seq_;
    const sim::Outcome outcome = sim::ReplayWith(store_, heap_, what_if);
    const sim::FailureOutcome* failure = OutcomeOf(outcome);
    if (failure == nullptr || !failure->fits || outcome.first_new_failure_seq != kNone) return;
    failure_.report.remedies.push_back(
        {fmt::format("What stays ({}) allocated before the rest, by replay: {} reserved, the request included.",
                     FormatBytes(*failure_.report.live_bytes), FormatBytes(failure->reserved_bytes)),
         *failure_.report.live_bytes, replayed_->is_faithful ? RemedyBasis::kComputed : RemedyBasis::kAssumed, true});
  }

  const HeapAnalysis& analysis_;
  const Store& store_;
  const Heap& heap_;
  const std::optional<ReplayedRemedies>& replayed_;
  uint32_t seq_;
  bool tries_order_;  // a replay of another order costs as much as all before it: only for the last failure
  uint32_t stream_ = 0;
  uint64_t block_bytes_ = 0;   // of the request
  uint64_t driver_bytes_ = 0;  // 0: no segments are recorded
  Fragmentation fragmentation_;
  SnapshotOom failure_;
};

}  // namespace

std::vector<SnapshotOom> ExplainFailures(KeptAnalyses& analyses, const Heap& heap, size_t most_count,
                                         uint64_t& left_out_count) {
  const Store& store = analyses.store();
  std::vector<uint32_t> failures;
  for (uint32_t row = heap.events.begin; row < heap.events.end; ++row) {
    if (store.events.kind[row] == EventKind::kOutOfMemory) failures.push_back(row - heap.events.begin);
  }
  if (failures.empty()) return {};
  if (failures.size() > most_count) {
    left_out_count += failures.size() - most_count;
    failures.erase(failures.begin(), failures.end() - static_cast<std::ptrdiff_t>(most_count));
  }
  return ExplainFailures(analyses.Of(heap), failures);
}

std::vector<SnapshotOom> ExplainFailures(const HeapAnalysis& analysis, std::span<const uint32_t> failure_seqs,
                                         OomReplays replays) {
  const Store& store = *analysis.store;
  const Heap& heap = *analysis.heap;
  std::optional<ReplayedRemedies> replayed;
  if (replays != OomReplays::kNoReplay && sim::CanReplay(heap)) {
    ReplayScope scope;
    if (replays == OomReplays::kUntilOneFits && !failure_seqs.empty()) scope.until_fits_seq = failure_seqs.back();
    replayed = ReplayRemedies(store, heap, sim::RecordedLimit(store, heap), scope);
  }
  std::vector<SnapshotOom> explained;
  for (const uint32_t seq : failure_seqs) {
    const bool tries_order = replays == OomReplays::kAll && seq == failure_seqs.back();
    explained.push_back(FailureExplainer(analysis, replayed, seq, tries_order).Explain());
  }
  return explained;
}

}  // namespace memstrata
