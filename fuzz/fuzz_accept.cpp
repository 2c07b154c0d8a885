// The files that judgements start from: the first byte chooses a baseline or a specification. What is accepted must be
// the same after it was written and read again.

#include <cstdlib>
#include <string>

#include "accept/baseline.h"
#include "accept/baseline_store.h"
#include "accept/spec.h"

namespace {

using memstrata::Result;
namespace accept = memstrata::accept;

void TryBaseline(std::string_view text) {
  const Result<accept::Baseline> baseline = accept::ParseBaseline(text);
  if (!baseline) return;
  const std::string written = accept::BaselineJson(*baseline);
  const Result<accept::Baseline> again = accept::ParseBaseline(written);
  if (!again || accept::BaselineJson(*again) != written) std::abort();
  for (const accept::BaselineHeap& heap : baseline->heaps) {
    if (!accept::StoreOf(heap)) std::abort();
  }
}

void TrySpec(std::string_view text) {
  const Result<accept::Spec> spec = accept::ParseSpec(text);
  if (spec && spec->CheckCount() == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    TryBaseline(text);
  } else {
    TrySpec(text);
  }
  return 0;
}
