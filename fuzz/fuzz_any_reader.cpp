// Any bytes through everything: containers, recognition, each reader, the invariants of the store, all figures and
// tables. An input may be refused, but never with "internal", and the sums of what is accepted must agree.

#include <cstdlib>

#include "analysis/kept_analyses.h"
#include "query/oom.h"
#include "query/summary.h"
#include "query/table.h"
#include "readers/reader.h"
#include "report/csv/table_csv.h"
#include "report/json/oom_json.h"
#include "report/json/summary_json.h"
#include "report/text/summary_text.h"
#include "report/xprof/memory_profile_json.h"
#include "report/xprof/memory_viewer_json.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSums(const memstrata::SummaryAnswer& answer) {
  for (const memstrata::HeapSummary& heap : answer.heaps) {
    uint64_t held = 0;
    for (const memstrata::Holder& holder : heap.holders) held += holder.bytes;
    if (heap.profile) {
      for (const memstrata::ProfileHolder& holder : heap.profile->holders) held += static_cast<uint64_t>(holder.bytes);
    }
    Require(held == heap.holders_bytes);
    Require(heap.live_peak.bytes >= heap.end_live_bytes);
    if (!heap.idle) continue;
    const memstrata::IdleBytes& idle = *heap.idle;
    Require(idle.private_pool_bytes + idle.whole_segment_bytes + idle.stream_bytes + idle.split_bytes ==
            idle.idle_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memstrata::OpenOptions options;
  options.context.limits.memory_bytes = 256 << 20;
  const memstrata::Result<memstrata::Store> store =
      memstrata::OpenBytes("fuzz", std::string(reinterpret_cast<const char*>(data), size), options);
  if (!store) {
    Require(store.error().code != memstrata::ErrorCode::kInternal);
    return 0;
  }
  const memstrata::Result<memstrata::SummaryAnswer> answer = memstrata::Summarize(*store, {.curve_column_count = 60});
  Require(answer.has_value());
  CheckSums(*answer);
  memstrata::StringSink sink;
  (void)memstrata::WriteSummaryJson(*answer, sink);
  (void)memstrata::WriteSummaryText(*answer, {.full_stacks = true}, sink);
  memstrata::KeptAnalyses analyses(*store);
  const memstrata::Result<memstrata::OomAnswer> failures = memstrata::ExplainOutOfMemory(analyses, "");
  Require(failures.has_value());
  (void)memstrata::WriteOomJson(*failures, sink);
  for (uint32_t source = 0; source < store->sources.size(); ++source) {
    (void)memstrata::WriteXProfMemoryProfile(*store, source, true, sink);
    (void)memstrata::WriteXProfMemoryProfile(*store, source, false, sink);
  }
  for (const memstrata::Program& program : store->programs) {
    (void)memstrata::WriteXProfMemoryViewer(*store, program, 0, sink);
  }
  const memstrata::DerivedColumns derived;
  for (const memstrata::TableInfo* table : memstrata::AllTables()) {
    (void)memstrata::WriteTableCsv(*table, {*store, derived}, nullptr, sink);
  }
  return 0;
}
