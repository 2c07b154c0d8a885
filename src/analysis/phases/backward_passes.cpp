#include "analysis/phases/backward_passes.h"

#include <algorithm>
#include <map>

#include "analysis/phases/gradient_passes.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// A backward gives back blocks of the forward at least this often.
constexpr uint32_t kFewestRuns = 3;

// Where a backward is not known by a scalar at whose end most is gone, it has to be longer, or to make gradients.
constexpr uint32_t kFewestRunsOfOther = 8;
constexpr size_t kFewestGradients = 3;

enum class Root : uint8_t { kScalar, kTensor };

/// A block that may be a root gradient.
struct Candidate {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_part = false;           // much of what waits to be given back at its begin still waits at its end
  uint32_t unwound_count = 0;     // runs of frees in its life that give back older blocks
  uint32_t oldest_index = kNone;  // of the blocks that they give back
  uint32_t fall_count = 0;        // those that give back an older block than the run before
};

bool IsEarlier(const Candidate& a, const Candidate& b) { return a.begin < b.begin; }

void SortByBegin(std::vector<Candidate>& candidates) { std::sort(candidates.begin(), candidates.end(), IsEarlier); }

class PassFinder {
 public:
  PassFinder(const OrderEvents& events, uint32_t last_failure_index)
      : events_(events),
        last_failure_index_(last_failure_index),
        runs_(FindFreeRuns(events)),
        is_made_in_pass_(events.size(), false) {}

  std::vector<BackwardPass> Run() {
    CountCrossings();
    std::vector<Candidate> accepted = Accept(Candidates(Root::kScalar, {}), Root::kScalar);
    MarkMade(accepted);
    WidenToRoots(accepted);
    AddByGradients(accepted);
    MarkMade(accepted);
    const bool goes_on = !accepted.empty();
    for (const Candidate& found : Accept(Candidates(Root::kTensor, accepted), Root::kTensor, goes_on))
      accepted.push_back(found);
    SortByBegin(accepted);
    EraseForwards(accepted);
    AddAlike(accepted);
    MarkMade(accepted);
    AddRepeated(accepted);
    return ToPasses(accepted);
  }

 private:
  // The frees in its life give back blocks older than itself, mostly each run an older one than the run before.
  bool IsBackward(Candidate& candidate, Root root, bool goes_on) {
    Unwind(candidate);
    const bool is_most = candidate.unwound_count * 2 >= crossing_count_[candidate.begin];
    const bool is_apart = candidate.is_part || !is_most;  // something older waits on for another backward
    const bool is_whole = is_apart && GivesBackAllOfItsForward(candidate);
    const bool is_sure = root == Root::kScalar && (!candidate.is_part || is_whole);
    if (candidate.unwound_count < (is_sure ? kFewestRuns : kFewestRunsOfOther)) return false;
    if (!is_most && !candidate.is_part && !is_whole) return false;
    const uint32_t tenths = is_apart ? 8 : 6;
    if (candidate.fall_count * 10 < (candidate.unwound_count - 1) * tenths) return false;
    if (is_apart && !OnlyGivesBack(candidate)) return false;
    return root == Root::kScalar || goes_on || GradientSizes(candidate.begin, candidate.end).size() >= kFewestGradients;
  }

  // Of what waits to be given back, it leaves only what is older than all that it gives back: another model's forward
  // may have run before.
  bool GivesBackAllOfItsForward(const Candidate& candidate) {
    looked_at_ += candidate.begin - std::min(candidate.begin, candidate.oldest_index);
    uint32_t waiting_count = 0;
    for (uint32_t i = candidate.oldest_index; i < candidate.begin; ++i)
      waiting_count += run_of_oldest_[i] != kNone && run_of_oldest_[i] > candidate.begin ? 1 : 0;
    return candidate.unwound_count * 4 >= waiting_count * 3;
  }

  // No forward runs in between: at no event more waits to be given back than at the begin.
  bool OnlyGivesBack(const Candidate& candidate) {
    looked_at_ += candidate.end - candidate.begin;
    const auto begin = crossing_count_.begin() + candidate.begin;
    return *std::max_element(begin, crossing_count_.begin() + candidate.end) <= *begin;
  }

  // A loss of several terms: the gradient of one of them, made right behind the root, lives while its part of the graph
  // is given back; the root until all of it is.
  void WidenToRoots(std::vector<Candidate>& accepted) {
    constexpr uint32_t kMostBehind = 2;
    for (size_t k = 0; k < accepted.size(); ++k) {
      const uint32_t latest = k + 1 < accepted.size() ? accepted[k + 1].begin : static_cast<uint32_t>(events_.size());
      const uint32_t part_begin = accepted[k].begin;
      for (uint32_t i = part_begin; i-- > 0 && part_begin - i <= kMostBehind;) {
        if (!events_[i].is_alloc || events_[i].size_bytes > kFloatBytes) break;
        const Candidate whole = {i, events_[i].free_index};
        if (whole.end >= latest || whole.end <= accepted[k].end) continue;
        Candidate rest = {accepted[k].end, whole.end};
        Unwind(rest);
        if (rest.unwound_count >= kFewestRuns && OnlyGivesBack(whole)) accepted[k] = whole;
      }
    }
  }

  // What these backwards make are gradients: giving them back, as an update does, unwinds no forward.
  void MarkMade(const std::vector<Candidate>& accepted) {
    for (const Candidate& pass : accepted)
      std::fill(is_made_in_pass_.begin() + pass.begin, is_made_in_pass_.begin() + pass.end, true);
  }

  // Of candidates that overlap, one; in order.
  std::vector<Candidate> Accept(const std::vector<Candidate>& candidates, Root root, bool goes_on = false) {
    std::vector<Candidate> accepted;
    for (Candidate candidate : candidates) {
      const auto inner = std::upper_bound(accepted.begin(), accepted.end(), candidate.begin,
                                          [](uint32_t begin, const Candidate& other) { return begin < other.end; });
      if (inner != accepted.end() && inner->begin < candidate.begin) continue;
      if (!IsBackward(candidate, root, goes_on)) continue;
      // Other blocks live while the backward runs too; the shortest of those that see most of it is the root.
      uint32_t inner_count = 0;
      for (auto other = inner; other != accepted.end(); ++other) inner_count += other->unwound_count;
      if (candidate.unwound_count < 2 * inner_count) continue;
      accepted.erase(inner, accepted.end());
      accepted.push_back(candidate);
    }
    return accepted;
  }

  // A backward that makes many gradients while a candidate around it unwinds next to nothing counts instead of it.
  void AddByGradients(std::vector<Candidate>& accepted) const {
    const std::vector<GradientPass> passes = FindGradientPasses(events_);
    const auto overlapping = [&](const Candidate& candidate) {
      return std::partition_point(passes.begin(), passes.end(),
                                  [&](const GradientPass& pass) { return pass.end < candidate.begin; });
    };
    std::erase_if(accepted, [&](const Candidate& candidate) {
      const auto pass = overlapping(candidate);
      return pass != passes.end() && pass->begin > candidate.begin && pass->end <= candidate.end &&
             candidate.unwound_count * 4 < pass->gradient_count;
    });
    std::vector<bool> is_known(passes.size(), false);
    for (const Candidate& candidate : accepted) {
      for (auto pass = overlapping(candidate); pass != passes.end() && pass->begin <= candidate.end; ++pass)
        is_known[static_cast<size_t>(pass - passes.begin())] = true;
    }
    for (size_t i = 0; i < passes.size(); ++i) {
      if (!is_known[i]) accepted.push_back({passes[i].begin, passes[i].end});
    }
    SortByBegin(accepted);
  }

  // While the loss of an evaluation's batch lives, the next batch's forward runs and gives back, here and there, what
  // the one before left. Unlike a backward, it makes hardly any block in the sizes of gradients, and most that it gives
  // back is its own.
  void EraseForwards(std::vector<Candidate>& accepted) {
    constexpr uint64_t kMostRunsForEach = 4;  // of a backward, for each that gives back something older
    const auto gives_back_little = [&](const Candidate& candidate) {
      const auto is_before = [](const FreeRun& run, uint32_t index) { return run.begin < index; };
      const auto first = std::lower_bound(runs_.begin(), runs_.end(), candidate.begin, is_before);
      const auto run_count = std::lower_bound(first, runs_.end(), candidate.end, is_before) - first;
      return candidate.unwound_count * kMostRunsForEach < static_cast<uint64_t>(run_count);
    };
    FlatMap<uint64_t, bool> gradient_sizes;
    for (const Candidate& candidate : accepted) {
      if (gives_back_little(candidate)) continue;
      for (const uint64_t size_bytes : GradientSizes(candidate.begin, candidate.end)) gradient_sizes[size_bytes] = true;
    }
    std::erase_if(accepted, [&](const Candidate& candidate) {
      if (!gives_back_little(candidate)) return false;
      FlatMap<uint64_t, bool> made;
      for (uint32_t i = candidate.begin; i < candidate.end; ++i) {
        if (events_[i].IsLargeAlloc() && gradient_sizes.contains(events_[i].size_bytes))
          made[events_[i].size_bytes] = true;
      }
      return made.size() * 4 < gradient_sizes.size();
    });
  }

  // At each event, the runs of frees still to come that give back a block which lives there.
  void CountCrossings() {
    std::vector<int32_t> change(events_.size() + 1, 0);
    run_of_oldest_.assign(events_.size(), kNone);
    for (const FreeRun& run : runs_) {
      if (run.oldest_alloc_index == kNone) continue;
      ++change[run.oldest_alloc_index + 1];
      --change[run.begin];
      run_of_oldest_[run.oldest_alloc_index] = run.begin;
    }
    crossing_count_.resize(events_.size());
    int32_t sum = 0;
    for (size_t i = 0; i < events_.size(); ++i) crossing_count_[i] = static_cast<uint32_t>(sum += change[i]);
  }

  // Blocks at whose end most of what the forward kept is gone; those that end first come first, of equal ones the last
  // to start. One that an accepted backward made, the gradient of a later part's input, counts from its end on.
  std::vector<Candidate> Candidates(Root root, const std::vector<Candidate>& accepted) const {
    std::vector<Candidate> candidates;
    for (uint32_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].is_alloc || events_[i].IsScalar() != (root == Root::kScalar)) continue;
      const auto other = std::lower_bound(accepted.begin(), accepted.end(), i,
                                          [](const Candidate& pass, uint32_t index) { return pass.end < index; });
      const bool is_within = other != accepted.end() && other->begin < i;
      // A program whose losses are scalars starts a backward with another block only to go on where one ended.
      if (!accepted.empty() && !is_within) continue;
      const auto next = is_within ? other + 1 : other;
      const uint32_t begin = is_within ? other->end + 1 : i;
      const uint32_t end = std::min(events_[i].free_index, last_failure_index_);
      if (end == kNone || end < begin + 2 * kFewestRuns || crossing_count_[begin] < kFewestRuns) continue;
      if (next != accepted.end() && next->begin < end) continue;
      // While a forward runs, more and more waits to be given back.
      const uint32_t soon = begin + (end - begin) / 8;
      if (root == Root::kTensor && crossing_count_[soon] > crossing_count_[begin]) continue;
      const uint32_t left = end + 1 < events_.size() ? crossing_count_[end + 1] : 0;
      const bool is_part = left * 10 > crossing_count_[begin] * 6;
      const bool may_be_part = events_[i].size_bytes <= kFloatBytes || is_within;
      if (!is_part || may_be_part) candidates.push_back({begin, end, is_part});
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.end != b.end ? a.end < b.end : a.begin > b.begin;
    });
    return candidates;
  }

  // Counts the runs of frees in its life; none where too much was looked at already.
  void Unwind(Candidate& candidate) {
    auto run = std::lower_bound(runs_.begin(), runs_.end(), candidate.begin,
                                [](const FreeRun& r, uint32_t index) { return r.begin < index; });
    uint32_t last = kNone;
    for (; run != runs_.end() && run->begin < candidate.end; ++run) {
      if (++looked_at_ > kMostLooks * (events_.size() + 1)) {
        candidate.unwound_count = 0;
        return;
      }
      if (run->oldest_alloc_index >= candidate.begin) continue;  // kNone as well
      if (is_made_in_pass_[run->oldest_alloc_index]) continue;
      ++candidate.unwound_count;
      candidate.fall_count += last != kNone && run->oldest_alloc_index < last ? 1 : 0;
      last = run->oldest_alloc_index;
      candidate.oldest_index = std::min(candidate.oldest_index, last);
    }
  }

  // Sizes of the gradients that are made between two events and stay.
  std::vector<uint64_t> GradientSizes(uint32_t begin, uint32_t end) {
    std::vector<uint64_t> sizes;
    looked_at_ += end - begin;
    for (uint32_t i = begin; i < end; ++i) {
      if (events_[i].IsLargeAlloc() && events_[i].LivesBeyond(end)) sizes.push_back(events_[i].size_bytes);
    }
    return sizes;
  }

  // A backward of few operations, as in a captured graph, is known by gradients of the same sizes in the same order as
  // another one's.
  void AddAlike(std::vector<Candidate>& accepted) {
    std::vector<std::vector<uint64_t>> known;
    uint32_t longest = 0;
    for (const Candidate& candidate : accepted) {
      std::vector<uint64_t> sizes = GradientSizes(candidate.begin, candidate.end);
      longest = std::max(longest, candidate.end - candidate.begin);
      if (sizes.size() >= kFewestGradients && (known.empty() || known.back() != sizes))
        known.push_back(std::move(sizes));
    }
    std::vector<Candidate> found;
    for (uint32_t i = 0; i < events_.size() && !known.empty(); ++i) {
      const uint32_t end = events_[i].free_index;
      const bool is_root = events_[i].is_alloc && events_[i].IsScalar() && end != kNone && end - i <= 2 * longest;
      if (!is_root || looked_at_ > kMostLooks * (events_.size() + 1) || (!found.empty() && i < found.back().end))
        continue;
      if (IsApart({i, end}, accepted) && std::find(known.begin(), known.end(), GradientSizes(i, end)) != known.end())
        found.push_back({i, end});
    }
    accepted.insert(accepted.end(), found.begin(), found.end());
    SortByBegin(accepted);
  }

  // A backward of a model of a few layers gives back little. It is known by gradients of the same sizes in the same
  // order that come again and again while something older is given back.
  void AddRepeated(std::vector<Candidate>& accepted) {
    constexpr size_t kFewestRepeats = 3;
    constexpr uint32_t kFewestRunsOfRepeated = 2;
    uint32_t longest = 0;
    for (const Candidate& candidate : accepted) longest = std::max(longest, candidate.end - candidate.begin);
    std::map<std::vector<uint64_t>, std::vector<Candidate>> by_gradients;
    for (uint32_t i = 0; i < events_.size(); ++i) {
      Candidate candidate = {i, events_[i].free_index};
      const bool is_root = events_[i].is_alloc && events_[i].IsScalar() && candidate.end != kNone;
      if (!is_root || candidate.end - i > 2 * longest || looked_at_ > kMostLooks * (events_.size() + 1)) continue;
      if (!IsApart(candidate, accepted)) continue;
      Unwind(candidate);
      if (candidate.unwound_count < kFewestRunsOfRepeated || candidate.fall_count + 1 < candidate.unwound_count)
        continue;
      std::vector<uint64_t> sizes = GradientSizes(candidate.begin, candidate.end);
      if (sizes.size() >= kFewestGradients) by_gradients[std::move(sizes)].push_back(candidate);
    }
    std::vector<Candidate> repeated;
    for (const auto& [sizes, alike] : by_gradients) {
      if (alike.size() >= kFewestRepeats) repeated.insert(repeated.end(), alike.begin(), alike.end());
    }
    std::sort(repeated.begin(), repeated.end(), [](const Candidate& a, const Candidate& b) {
      return a.end - a.begin != b.end - b.begin ? a.end - a.begin < b.end - b.begin : a.begin < b.begin;
    });
    for (const Candidate& candidate : repeated) {
      if (!IsApart(candidate, accepted)) continue;
      accepted.insert(std::upper_bound(accepted.begin(), accepted.end(), candidate, IsEarlier), candidate);
    }
  }

  // `accepted` in order, disjoint.
  static bool IsApart(const Candidate& candidate, const std::vector<Candidate>& accepted) {
    const auto after = std::partition_point(accepted.begin(), accepted.end(),
                                            [&](const Candidate& other) { return other.end <= candidate.begin; });
    return after == accepted.end() || after->begin >= candidate.end;
  }

  std::vector<BackwardPass> ToPasses(const std::vector<Candidate>& accepted) const {
    std::vector<BackwardPass> passes;
    uint32_t previous_end = 0;
    for (size_t k = 0; k < accepted.size(); ++k) {
      const Candidate& root = accepted[k];
      const uint32_t end = std::min(root.end + 1, static_cast<uint32_t>(events_.size()));
      uint32_t forward = previous_end;
      // What a backward that failed would have given back goes down with it.
      const uint32_t given_back_until = root.end == last_failure_index_ ? kNone : end;
      const auto is_given_back = [&](uint32_t index) {
        if (index > root.begin && index < given_back_until) return true;
        // A forward, or a part of it, may wait for a later backward: two models that train each other, or a pipeline.
        const auto later = std::upper_bound(accepted.begin() + static_cast<ptrdiff_t>(k) + 1, accepted.end(), index,
                                            [](uint32_t i, const Candidate& other) { return i < other.end; });
        return later != accepted.end() && index > later->begin;
      };
      const auto is_kept = [&](const OrderEvent& event) {
        return event.IsLargeAlloc() && is_given_back(event.free_index);
      };
      while (forward < root.begin && !is_kept(events_[forward])) ++forward;
      const bool gives_back = forward < root.begin;
      if (!gives_back) forward = AfterUpdate(previous_end, root.begin, accepted, k);
      passes.push_back({forward, root.begin, end, gives_back});
      previous_end = end;
    }
    return passes;
  }

  // Where nothing that the forward saved stays on the device, it begins behind the last gradient that is given back, or
  // the last block that stays for good.
  uint32_t AfterUpdate(uint32_t begin, uint32_t end, const std::vector<Candidate>& accepted, size_t pass) const {
    uint32_t after = pass == 0 ? begin : end;
    for (uint32_t i = begin; i < end; ++i) {
      const OrderEvent& event = events_[i];
      const bool is_drop = pass > 0 && !event.is_alloc && event.alloc_index != kNone &&
                           event.alloc_index > accepted[pass - 1].begin && event.alloc_index < accepted[pass - 1].end;
      if (is_drop || (event.IsLargeAlloc() && event.free_index == kNone)) after = i + 1;
    }
    return after;
  }

  // Blocks that live long are looked at no more often than this for each event together.
  static constexpr uint64_t kMostLooks = 64;

  const OrderEvents& events_;
  const uint32_t last_failure_index_;
  const std::vector<FreeRun> runs_;
  std::vector<uint32_t> crossing_count_;
  std::vector<bool> is_made_in_pass_;    // by index of an allocation
  std::vector<uint32_t> run_of_oldest_;  // by index of an allocation: the run of frees whose oldest block it is
  uint64_t looked_at_ = 0;
};

}  // namespace

std::vector<BackwardPass> FindBackwardPasses(const OrderEvents& events, uint32_t last_failure_index) {
  return PassFinder(events, last_failure_index).Run();
}

}  // namespace memstrata
