#pragma once
// What a shared library (ELF, 64 bits, little endian) offers and needs when it is loaded: its name, the libraries that
// it asks for, and its dynamic symbols. Layout: System V ABI, chapters 4 and 5. Not for: code, relocations, debug
// information.

#include <string>
#include <vector>

#include "io/source/byte_source.h"

namespace memstrata {

struct DynamicSymbols {
  std::string name;                    // DT_SONAME; empty when it has none
  std::vector<std::string> needed;     // DT_NEEDED, in order
  std::vector<std::string> undefined;  // what another library has to define; weak references are left out
  std::vector<std::string> defined;
};

/// cost: reads the section headers, the dynamic section, the symbols and their names; nothing else of the file.
/// error: kUnsupportedFormat when it is no such library, kCorruptInput, kLimitExceeded, kIo.
Result<DynamicSymbols> ReadDynamicSymbols(const RandomAccess& file);

}  // namespace memstrata
