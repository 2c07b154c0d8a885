#include "model/store/store_builder.h"

#include <fmt/format.h>

namespace memstrata {
namespace {

tl::unexpected<Error> Broken(std::string_view what) {
  return Fail(ErrorCode::kInternal, fmt::format("A reader built an inconsistent table: {}. Please report it.", what));
}

// Every column has the length of its table, or is empty where that is allowed.
Status CheckEventColumns(const EventTable& events) {
  const size_t rows = events.size();
  const auto optional = [rows](size_t size) { return size == rows || size == 0; };
  const bool whole = events.addr.size() == rows && events.size_bytes.size() == rows && events.stream.size() == rows &&
                     events.stack.size() == rows && events.allocation.size() == rows &&
                     optional(events.time_ns.size()) && optional(events.context.size()) && optional(events.pool.size());
  if (!whole) return Broken("event columns of different lengths");
  if (rows >= kNone) return Fail(ErrorCode::kLimitExceeded, "More than 4,294,967,294 events.");
  return {};
}

Status CheckAllocations(const Store& store, const Heap& heap) {
  const AllocationTable& table = store.allocations;
  if (heap.allocations.end > table.size() || heap.events.end > store.events.size()) return Broken("heap ranges");
  const uint32_t event_count = heap.events.size();
  uint32_t previous = 0;
  for (uint32_t row = heap.allocations.begin; row < heap.allocations.end; ++row) {
    const uint32_t begin = table.alloc_seq[row];
    const uint32_t end = table.free_seq[row];
    const bool in_order = begin >= previous;  // preexisting rows (kNone) come last
    const bool ends_later = end == kNone || (end < event_count && (begin == kNone || end > begin));
    if (!in_order || !ends_later || (begin != kNone && begin >= event_count)) {
      return Broken(fmt::format("allocation {} of heap {}", row, heap.id));
    }
    previous = begin;
  }
  return {};
}

template <class Map, class Row>
uint32_t InternRow(Map& ids, std::vector<Row>& rows, const Row& row) {
  const auto [entry, is_new] = ids.try_emplace(row, static_cast<uint32_t>(rows.size()));
  if (is_new) rows.push_back(row);
  return entry->second;
}

}  // namespace

uint32_t StoreBuilder::AddSource(Source source) {
  store_.sources.push_back(std::move(source));
  diagnostics_.set_source(current_source());
  return current_source();
}

uint32_t StoreBuilder::InternStream(uint64_t handle) { return InternRow(stream_ids_, store_.streams, handle); }
uint32_t StoreBuilder::InternPool(Pool pool) { return InternRow(pool_ids_, store_.pools, pool); }
uint32_t StoreBuilder::InternContext(const EventContext& context) {
  return InternRow(context_ids_, store_.contexts, context);
}

void StoreBuilder::AddMissing(std::string what, std::string why, std::string how_to_get) {
  for (const Missing& known : store_.missing) {
    if (known.what == what && known.why == why) return;
  }
  store_.missing.push_back({std::move(what), std::move(why), std::move(how_to_get)});
}

Result<Store> StoreBuilder::Finalize() && {
  MEMSTRATA_TRY(CheckEventColumns(store_.events));
  for (const Heap& heap : store_.heaps) MEMSTRATA_TRY(CheckAllocations(store_, heap));
  store_.diagnostics = diagnostics_.Take();
  return std::move(store_);
}

}  // namespace memstrata
