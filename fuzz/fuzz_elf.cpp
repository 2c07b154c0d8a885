// The reader of shared libraries: any bytes give symbols or an error.

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/elf/dynamic_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)memstrata::ReadDynamicSymbols(memstrata::MemoryAccess(bytes));
  return 0;
}
