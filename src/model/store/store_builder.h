#pragma once
// Where readers put what they decode. Append-only; Finalize() checks the invariants that every analysis relies on and
// freezes the result.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/ingest/diagnostics.h"
#include "model/store/store.h"

namespace memstrata {

class StoreBuilder {
 public:
  /// The tables being built. Readers append through model/ingest wherever a helper exists.
  Store& store() { return store_; }
  DiagnosticLog& diagnostics() { return diagnostics_; }

  /// Starts a source; later diagnostics and heaps belong to it. Returns its row.
  uint32_t AddSource(Source source);
  uint32_t current_source() const { return static_cast<uint32_t>(store_.sources.size()) - 1; }

  /// Index of a raw stream handle, pool or context, the same for equal values.
  uint32_t InternStream(uint64_t handle);
  uint32_t InternPool(Pool pool);
  uint32_t InternContext(const EventContext& context);

  /// Says that something a user may look for is not there. Repeated statements are kept once.
  void AddMissing(std::string what, std::string why, std::string how_to_get);

  /// Validates and freezes. kInternal names the invariant that a reader broke.
  Result<Store> Finalize() &&;

 private:
  Store store_;
  DiagnosticLog diagnostics_;
  template <class Row>
  struct RowHash {
    using is_avalanching = void;
    size_t operator()(const Row& row) const { return HashBytes(&row, sizeof row); }
  };
  FlatMap<uint64_t, uint32_t> stream_ids_;
  FlatMap<Pool, uint32_t, RowHash<Pool>> pool_ids_;
  FlatMap<EventContext, uint32_t, RowHash<EventContext>> context_ids_;
};

}  // namespace memstrata
