#include "analysis/phases/order_landmarks.h"

#include <algorithm>
#include <map>

#include "base/flat_map.h"

namespace memstrata {
namespace {

// A drop of fewer gradients than this is taken for something else.
constexpr size_t kFewestGradients = 4;
// Root gradients and losses are scalars.
constexpr uint64_t kScalarBytes = 8;

std::vector<OrderEvent> CollectEvents(const Store& store, const Heap& heap) {
  std::vector<OrderEvent> events;
  for (uint32_t seq = 0; seq < heap.events.size(); ++seq) {
    const uint32_t row = heap.events.begin + seq;
    const EventKind kind = store.events.kind[row];
    const uint32_t allocation = store.events.allocation[row];
    if ((kind != EventKind::kAlloc && kind != EventKind::kFreeRequested) || allocation == kNone) continue;
    events.push_back({seq, kind == EventKind::kAlloc, store.events.size_bytes[row],
                      store.allocations.alloc_seq[allocation], store.allocations.free_requested_seq[allocation]});
  }
  return events;
}

// The model is loaded first: blocks that stay, hardly one between that does not.
/// Where loading ends, and what it leaves: the parameters in their order, buffers among them.
struct Loaded {
  uint32_t end_seq = 0;
  std::vector<uint64_t> sizes_bytes;
};

Loaded FindLoaded(const std::vector<OrderEvent>& events, uint32_t event_count) {
  constexpr uint32_t kMostBetween = 3;
  const uint32_t almost_all = event_count - event_count / 50;
  Loaded loaded;
  uint32_t between_count = 0;
  for (const OrderEvent& event : events) {
    if (!event.is_alloc) continue;
    const bool stays = event.free_seq >= almost_all;
    if (!stays && ++between_count > kMostBetween) break;
    if (!stays) continue;
    loaded.end_seq = event.seq + 1;
    if (event.size_bytes > kScalarBytes) loaded.sizes_bytes.push_back(event.size_bytes);
    between_count = 0;
  }
  return loaded.sizes_bytes.size() >= kFewestGradients ? loaded : Loaded{};
}

/// Positions of allocation of blocks that are freed in a row.
struct AllocRange {
  uint32_t first_seq = kNone;
  uint32_t last_seq = 0;
  size_t count = 0;
  bool has_older = false;  // some are older than the recording

  void Add(const OrderEvent& event) {
    ++count;
    if (event.alloc_seq == kNone) {
      has_older = true;
      return;
    }
    first_seq = std::min(first_seq, event.alloc_seq);
    last_seq = std::max(last_seq, event.alloc_seq);
  }
  bool IsSpread() const { return has_older ? first_seq == kNone : last_seq - first_seq >= 3 * count; }
};

/// Frees [begin, end) of OrderLandmarks::events.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
};

// The first frees of a run whose sizes are those of parameters, each used once; not every parameter needs a gradient.
Stretch FollowParameters(const std::vector<OrderEvent>& events, Stretch run, FlatMap<uint64_t, uint32_t> left) {
  Stretch stretch{run.begin, run.begin};
  while (stretch.end < run.end && left.contains(events[stretch.end].size_bytes) &&
         left[events[stretch.end].size_bytes] > 0)
    --left[events[stretch.end++].size_bytes];
  return stretch;
}

AllocRange RangeOf(const std::vector<OrderEvent>& events, Stretch stretch) {
  AllocRange range;
  for (size_t i = stretch.begin; i < stretch.end; ++i) range.Add(events[i]);
  return range;
}

GradientDrop MakeDrop(const std::vector<OrderEvent>& events, Stretch stretch) {
  GradientDrop drop{
      events[stretch.begin].seq, events[stretch.end - 1].seq + 2, {}, kNone, kNone};  // with its free_completed
  for (size_t i = stretch.begin; i < stretch.end; ++i) drop.sizes_bytes.push_back(events[i].size_bytes);
  const AllocRange range = RangeOf(events, stretch);
  if (range.first_seq == kNone) return drop;
  drop.first_alloc_seq = range.first_seq;
  drop.last_alloc_seq = range.last_seq;
  return drop;
}

// With the parameters known: frees of most of their sizes. Temporaries of the optimizer are freed like that too, but
// were made in one go.
void AddDropsByParameters(const std::vector<OrderEvent>& events, Stretch run, const std::vector<uint64_t>& parameters,
                          std::vector<GradientDrop>& drops) {
  FlatMap<uint64_t, uint32_t> counts;
  for (const uint64_t size : parameters) ++counts[size];
  // Of starts that find equally many the last one: temporaries of the same sizes may have been freed right before.
  Stretch best{run.begin, run.begin};
  for (; run.end - run.begin >= kFewestGradients && best.end - best.begin <= run.end - run.begin; ++run.begin) {
    const Stretch stretch = FollowParameters(events, run, counts);
    if (stretch.end - stretch.begin >= best.end - best.begin) best = stretch;
  }
  const bool is_most = (best.end - best.begin) * 10 >= parameters.size() * 4;  // buffers have none
  if (is_most && RangeOf(events, best).IsSpread()) drops.push_back(MakeDrop(events, best));
}

// Frees in a row whose blocks were made apart from each other.
std::vector<GradientDrop> FindDrops(const std::vector<OrderEvent>& events, const std::vector<uint64_t>& parameters) {
  std::vector<GradientDrop> drops;
  for (size_t begin = 0; begin < events.size();) {
    size_t end = begin;
    while (end < events.size() && !events[end].is_alloc) ++end;
    const Stretch run{begin, end};
    if (end - begin >= kFewestGradients) {
      if (!parameters.empty()) {
        AddDropsByParameters(events, run, parameters, drops);
      } else if (RangeOf(events, run).IsSpread()) {
        drops.push_back(MakeDrop(events, run));
      }
    }
    begin = std::max(end, begin + 1);
  }
  return drops;
}

// Drops of gradients repeat with the same sizes, and of those they have the most blocks. Weight copies of autocast are
// dropped too, but not all parameters have one; what a backward gives back in a row is less.
void KeepRepeatedDrops(std::vector<GradientDrop>& drops) {
  std::map<std::vector<uint64_t>, uint32_t> repeats;
  for (const GradientDrop& drop : drops) ++repeats[drop.sizes_bytes];
  const std::vector<uint64_t>* best = nullptr;
  uint32_t best_repeats = 0;
  for (const auto& [sizes, count] : repeats) {
    const uint32_t repeat = std::min(count, 2U);
    const bool is_better =
        best == nullptr || repeat > best_repeats || (repeat == best_repeats && sizes.size() > best->size());
    if (!is_better) continue;
    best = &sizes;
    best_repeats = repeat;
  }
  if (best == nullptr) return;
  const std::vector<uint64_t> chosen = *best;
  std::erase_if(drops, [&](const GradientDrop& drop) { return drop.sizes_bytes != chosen; });
}

// Sizes of the allocations from `index` on that make the start of a backward recognisable.
std::vector<uint64_t> Signature(const std::vector<OrderEvent>& events, size_t index) {
  constexpr size_t kLength = 5;
  std::vector<uint64_t> sizes;
  for (size_t i = index; i < events.size() && sizes.size() < kLength; ++i) {
    if (events[i].is_alloc) sizes.push_back(events[i].size_bytes);
  }
  return sizes;
}

// A backward starts with a scalar, the gradient of the loss by itself, before its first large block.
std::vector<uint32_t> FindBackwards(const std::vector<OrderEvent>& events, const std::vector<GradientDrop>& drops) {
  constexpr size_t kFarthest = 60;
  std::vector<uint32_t> begins;
  std::vector<std::vector<uint64_t>> signatures;
  for (const GradientDrop& drop : drops) {
    if (drop.first_alloc_seq == kNone) continue;
    const size_t first = OrderIndexAt(events, drop.first_alloc_seq);
    size_t scalar = first;
    for (size_t i = first; i > 0 && first - i < kFarthest && scalar == first; --i) {
      if (events[i - 1].is_alloc && events[i - 1].size_bytes <= kScalarBytes) scalar = i - 1;
    }
    if (scalar > 0 && scalar != first && events[scalar - 1].is_alloc &&
        events[scalar - 1].size_bytes == events[scalar].size_bytes)
      --scalar;
    begins.push_back(events[scalar].seq);
    std::vector<uint64_t> signature = Signature(events, scalar);
    if (std::find(signatures.begin(), signatures.end(), signature) == signatures.end())
      signatures.push_back(std::move(signature));
  }
  constexpr size_t kMostSignatures = 8;
  if (signatures.size() <= kMostSignatures) {  // further backwards, of accumulated gradients, start in the same way
    for (size_t i = 0; i < events.size(); ++i) {
      if (!events[i].is_alloc || events[i].size_bytes > kScalarBytes) continue;
      if (std::find(signatures.begin(), signatures.end(), Signature(events, i)) != signatures.end())
        begins.push_back(events[i].seq);
    }
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins;
}

// Forwards start as the first one does.
std::vector<uint32_t> FindForwards(const std::vector<OrderEvent>& events, uint32_t load_end_seq) {
  const std::vector<uint64_t> signature = Signature(events, OrderIndexAt(events, load_end_seq));
  std::vector<uint32_t> begins;
  for (size_t i = OrderIndexAt(events, load_end_seq); i < events.size(); ++i) {
    if (events[i].is_alloc && events[i].size_bytes == signature[0] && Signature(events, i) == signature)
      begins.push_back(events[i].seq);
  }
  return begins;
}

std::vector<uint64_t> WithoutRepeats(const std::vector<uint64_t>& sizes) {
  std::vector<uint64_t> result;
  for (const uint64_t size : sizes) {
    if (size > kScalarBytes && (result.empty() || result.back() != size)) result.push_back(size);
  }
  return result;
}

// An update that makes temporaries for all parameters at once shows their sizes: the longest allocations in a row that
// come again.
std::vector<uint64_t> ParametersByUpdate(const std::vector<OrderEvent>& events) {
  constexpr size_t kFewest = 8;
  std::map<std::vector<uint64_t>, uint32_t> repeats;
  std::vector<uint64_t> run;
  for (const OrderEvent& event : events) {
    if (event.is_alloc) {
      run.push_back(event.size_bytes);
      continue;
    }
    if (run.size() >= kFewest) ++repeats[run];
    run.clear();
  }
  std::vector<uint64_t> longest;
  for (const auto& [sizes, count] : repeats) {
    if (count >= 2 && sizes.size() > longest.size()) longest = sizes;
  }
  return longest;
}

}  // namespace

size_t OrderIndexAt(const std::vector<OrderEvent>& events, uint32_t seq) {
  return static_cast<size_t>(std::lower_bound(events.begin(), events.end(), seq,
                                              [](const OrderEvent& event, uint32_t at) { return event.seq < at; }) -
                             events.begin());
}

OrderLandmarks FindOrderLandmarks(const Store& store, const Heap& heap) {
  OrderLandmarks marks;
  marks.events = CollectEvents(store, heap);
  Loaded loaded = FindLoaded(marks.events, heap.events.size());
  if (loaded.sizes_bytes.empty()) loaded.sizes_bytes = ParametersByUpdate(marks.events);
  marks.load_end_seq = loaded.end_seq;
  marks.drops = FindDrops(marks.events, loaded.sizes_bytes);
  if (loaded.sizes_bytes.empty()) KeepRepeatedDrops(marks.drops);
  marks.backward_begin_seqs = FindBackwards(marks.events, marks.drops);
  if (loaded.end_seq > 0) marks.forward_begin_seqs = FindForwards(marks.events, loaded.end_seq);
  marks.parameters_bytes = WithoutRepeats(marks.drops.empty() ? loaded.sizes_bytes : marks.drops.front().sizes_bytes);
  return marks;
}

}  // namespace memstrata
