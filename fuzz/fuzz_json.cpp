// The JSON form of a snapshot: any bytes behind a "{" or "[", so that the JSON path is taken whatever the fuzzer does.

#include <cstdlib>

#include "readers/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string document(reinterpret_cast<const char*>(data), size);
  if (document[0] != '{' && document[0] != '[') document.insert(0, 1, '{');
  memstrata::OpenOptions options;
  options.format = "torch_snapshot";
  options.context.limits.memory_bytes = 256 << 20;
  const memstrata::Result<memstrata::Store> store = memstrata::OpenBytes("fuzz", std::move(document), options);
  if (!store && store.error().code == memstrata::ErrorCode::kInternal) std::abort();
  return 0;
}
