#include "analysis/phases/generation.h"

#include <algorithm>

#include "analysis/phases/cache_chains.h"
#include "base/flat_map.h"

namespace memstrata {
namespace {

// Of each cache of a request. Few layers have to show it longer.
constexpr size_t kFewestBlocks = 3;
constexpr size_t kFewestBlocksOfFew = 5;

/// The caches of one request.
struct ChainGroup {
  const CacheChain* lead = nullptr;  // the one that every call writes first
  const CacheChain* tail = nullptr;  // and last
  uint32_t last_seq = 0;             // when its last block was made
  size_t chain_count = 0;
};

class GenerationFinder {
 public:
  GenerationFinder(const Store& store, const Heap& heap, const std::vector<Phase>& phases)
      : store_(store), heap_(heap), phases_(phases), chains_(FindCacheChains(store, heap, phases, kFewestBlocks)) {}

  std::vector<GenerationRequest> Run() {
    const std::vector<ChainGroup> groups = Groups();
    if (groups.empty()) return {};
    MeasureLive();
    std::vector<GenerationRequest> requests;
    uint32_t begin_seq = 0;
    while (begin_seq < phases_.size() && (phases_[begin_seq] == Phase::kLoad || phases_[begin_seq] == Phase::kOther))
      ++begin_seq;
    for (const ChainGroup& group : groups) {
      if (!requests.empty()) begin_seq = Lowest(begin_seq, FirstSeq(*group.lead));
      requests.push_back({CallsOf(group, begin_seq)});
      begin_seq = group.last_seq;
    }
    return requests;
  }

 private:
  uint32_t SeqOf(uint32_t row) const {
    const uint32_t seq = store_.allocations.alloc_seq[row];
    return seq == kNone ? 0 : seq;  // before the recording
  }
  uint32_t FirstSeq(const CacheChain& chain) const { return SeqOf(chain.front()); }

  // Chains that are as long as each other and whose lives overlap belong to one request.
  std::vector<ChainGroup> Groups() const {
    constexpr size_t kFewestChains = 2;
    constexpr size_t kFew = 4;  // caches of fewer than two layers
    std::vector<ChainGroup> groups;
    FlatMap<size_t, size_t> latest;  // by length: its last group
    for (const CacheChain& chain : chains_) {
      const auto known = latest.find(chain.size());
      if (known == latest.end() || FirstSeq(chain) >= groups[known->second].last_seq) {
        latest[chain.size()] = groups.size();
        groups.push_back({&chain, &chain, 0, 0});
      }
      Add(chain, groups[latest[chain.size()]]);
    }
    std::erase_if(groups, [](const ChainGroup& group) {
      const bool is_long = group.lead->size() >= kFewestBlocksOfFew;
      return group.chain_count < (is_long ? kFewestChains : kFew);
    });
    return OneAfterTheOther(groups);
  }

  void Add(const CacheChain& chain, ChainGroup& group) const {
    const bool is_after_tail = SeqOf(chain[1]) > SeqOf((*group.tail)[1]);
    if (is_after_tail && SeqOf(chain[1]) < SeqOf((*group.lead)[2])) group.tail = &chain;
    group.last_seq = std::max(group.last_seq, SeqOf(chain.back()));
    ++group.chain_count;
  }

  // Of requests that overlap, the one with more caches.
  std::vector<ChainGroup> OneAfterTheOther(const std::vector<ChainGroup>& groups) const {
    std::vector<ChainGroup> apart;
    for (const ChainGroup& group : groups) {
      const bool overlaps = !apart.empty() && FirstSeq(*group.lead) < apart.back().last_seq;
      if (!overlaps) {
        apart.push_back(group);
      } else if (group.chain_count > apart.back().chain_count) {
        apart.back() = group;
      }
    }
    return apart;
  }

  void MeasureLive() {
    live_before_.resize(phases_.size());
    int64_t live_bytes = 0;
    for (uint32_t seq = 0; seq < phases_.size(); ++seq) {
      const uint32_t row = heap_.events.begin + seq;
      live_before_[seq] = live_bytes;
      const auto size_bytes = static_cast<int64_t>(store_.events.size_bytes[row]);
      if (store_.events.kind[row] == EventKind::kAlloc) live_bytes += size_bytes;
      if (store_.events.kind[row] == EventKind::kFreeCompleted) live_bytes -= size_bytes;
    }
  }

  // The first allocation in (begin, end] before which the least is live.
  uint32_t Lowest(uint32_t begin_seq, uint32_t end_seq) const {
    uint32_t lowest = end_seq;
    for (uint32_t seq = end_seq; seq > begin_seq; --seq) {
      const bool is_alloc = store_.events.kind[heap_.events.begin + seq] == EventKind::kAlloc;
      if (is_alloc && live_before_[seq] <= live_before_[lowest]) lowest = seq;
    }
    return lowest;
  }

  // A block of the lead comes with each call. The first one may be of the prefill or of the decode after it: then a
  // whole call lies before it.
  std::vector<uint32_t> CallsOf(const ChainGroup& group, uint32_t begin_seq) const {
    const CacheChain& lead = *group.lead;
    std::vector<uint32_t> begins = {begin_seq};
    const auto begin_of = [&](size_t call) {  // behind all caches that the call before has written
      const bool has_tail = group.tail->size() > call - 1 && SeqOf((*group.tail)[call - 1]) < SeqOf(lead[call]);
      return Lowest(has_tail ? SeqOf((*group.tail)[call - 1]) : SeqOf(lead[call - 1]), SeqOf(lead[call]));
    };
    const auto to_lead = [&](size_t call) { return SeqOf(lead[call]) - begin_of(call); };
    const uint32_t call_length = SeqOf(lead[2]) - SeqOf(lead[1]);
    if (SeqOf(lead[0]) > begin_seq + to_lead(2) + call_length / 2) {
      begins.push_back(SeqOf(lead[0]) - to_lead(2));
      begins.push_back(begin_of(1));
    } else {  // between the prefill and the first decode lies other work; decodes are alike
      const uint32_t after_prefill = SeqOf(lead[1]) - SeqOf(lead[0]) - 1;
      begins.push_back(SeqOf(lead[1]) - std::min(to_lead(lead.size() > 3 ? 3 : 2), after_prefill));
    }
    for (size_t call = 2; call < lead.size(); ++call) begins.push_back(begin_of(call));
    return begins;
  }

  const Store& store_;
  const Heap& heap_;
  const std::vector<Phase>& phases_;
  const std::vector<CacheChain> chains_;
  std::vector<int64_t> live_before_;  // by event
};

}  // namespace

std::vector<GenerationRequest> FindGenerations(const Store& store, const Heap& heap, const std::vector<Phase>& phases) {
  if (std::find(phases.begin(), phases.end(), Phase::kBackward) != phases.end()) return {};
  return GenerationFinder(store, heap, phases).Run();
}

void MarkRequests(const std::vector<GenerationRequest>& requests, Timeline& timeline) {
  std::vector<Phase>& phases = timeline.phase_of_event;
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::vector<uint32_t>& calls = requests[i].call_begins;
    const uint32_t end =
        i + 1 < requests.size() ? requests[i + 1].call_begins[0] : static_cast<uint32_t>(phases.size());
    for (uint32_t seq = calls[0]; seq < end; ++seq) {
      const bool is_of_model = IsForwardOrEval(phases[seq]);
      if (is_of_model) phases[seq] = seq < calls[1] ? Phase::kPrefill : Phase::kDecode;
    }
  }
}

}  // namespace memstrata
