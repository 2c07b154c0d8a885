#pragma once
// Writes small shared libraries (ELF, x86-64), so that nobody needs a compiler for a dry run. Two kinds:
//
// - a shell: no symbols, only a name (SONAME) and the libraries that it needs. The loader matches a wanted library with
// a
//   loaded one by that name, so a shell that is loaded first stands for the vendor's library;
// - the library of generic answers: one function per name; each adds one to its own counter and returns 0, which means
//   success in every library of the vendor. Counters and names are exported as `memstrata_generic_counts` (64-bit
//   numbers) and `memstrata_generic_names` (the names in the same order, each ended by a zero byte, an empty one at the
//   end).

#include <span>
#include <string>
#include <vector>

namespace memstrata::dryrun {

struct LibrarySpec {
  std::string name;                    // SONAME
  std::vector<std::string> needed;     // DT_NEEDED
  std::vector<std::string> functions;  // counted answers; empty for a shell
};

/// The bytes of the library. Same input, same bytes.
std::string WriteLibrary(const LibrarySpec& spec);

}  // namespace memstrata::dryrun
