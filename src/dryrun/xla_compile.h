#pragma once
// The memory plan of a JAX function, from the compiler itself: python/memstrata/dryrun_compile.py, run by an
// interpreter that has JAX. The function is compiled and never run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cards.h"

namespace memstrata::dryrun {

struct JaxRequest {
  std::string interpreter;
  std::string function;             // "module:function"
  std::vector<std::string> shapes;  // "float32[8,128]"; none: the function is called and tells what to compile
  std::string topology;             // "v5e:2x2"; empty: the CPU of this machine
  std::string platform;             // of the topology
  std::string output;               // gets the plan, an HloProto
};

/// What XLA sums its plan up to, for one device.
struct JaxCompilation {
  std::string jax_version;
  std::string target;  // for people
  uint64_t argument_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t alias_bytes = 0;  // of outputs that lie in donated arguments
  uint64_t temp_bytes = 0;

  uint64_t TotalBytes() const { return argument_bytes + output_bytes - alias_bytes + temp_bytes; }
};

/// The answer of `memstrata dryrun --jax` (docs/reference/json/dryrun_jax.schema.json).
struct JaxAnswer {
  std::string function;
  JaxCompilation compilation;
  bool is_for_cpu = true;          // of this machine, whatever the card
  std::string file;                // the plan
  std::optional<plan::Card> card;  // none was named: nothing is judged

  /// Bytes that the card leaves beside the plan; negative: they are missing.
  std::optional<int64_t> MarginBytes() const;
  std::optional<bool> Fits() const;
};

/// error: kUnsupportedFormat (what was said on standard error: no JAX, no such function, no compiler for the topology),
///        kNotFound (the interpreter), kIo
/// cost: one start of JAX and one compilation
Result<JaxCompilation> CompileJax(const JaxRequest& request);

/// From the lines "name<TAB>value" of the program. error: kInternal when a figure is missing
Result<JaxCompilation> ParseCompilation(const std::string& output);

}  // namespace memstrata::dryrun
