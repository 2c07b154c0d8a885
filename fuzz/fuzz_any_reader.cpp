// Any bytes through recognition, unwrapping, the reader that claims them, the summary and its writers. Whatever comes
// in, nothing may crash, and the figures must obey the laws that hold for every file.

#include <cstdlib>
#include <string>

#include "query/summary.h"
#include "readers/reader.h"
#include "report/json/summary_json.h"
#include "report/text/summary_text.h"

namespace {

constexpr uint64_t kMemoryLimitBytes = 512ULL << 20;

// The holders at a moment are all that is live then: their sum is not an estimate.
void CheckHolders(const memstrata::HeapSummary& heap) {
  uint64_t sum_bytes = 0;
  for (const memstrata::Holder& holder : heap.holders) sum_bytes += holder.bytes;
  if (sum_bytes != heap.holders_bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memstrata::OpenOptions options;
  options.context.limits.memory_bytes = kMemoryLimitBytes;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const memstrata::Result<memstrata::Store> store = memstrata::OpenBytes("fuzz", bytes, options);
  if (!store) {
    if (store.error().message.empty()) std::abort();  // every refusal says why
    return 0;
  }
  const auto answer = memstrata::Summarize(*store, {.curve_column_count = 40});
  if (!answer) std::abort();
  for (const memstrata::HeapSummary& heap : answer->heaps) CheckHolders(heap);
  memstrata::StringSink sink;
  if (!memstrata::WriteSummaryJson(*answer, {.full_stacks = true}, sink)) std::abort();
  if (!memstrata::WriteSummaryText(*answer, {}, sink)) std::abort();
  return 0;
}
