#pragma once
// Accelerators, from one data file (data/cards.toml) that is built into the program.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memstrata::plan {

struct Card {
  std::string id;      // "h100-80g"
  std::string name;    // as the vendor calls it
  std::string vendor;  // nvidia, amd, intel, google, apple; empty: only a capacity was given
  std::string architecture;
  uint64_t vendor_bytes = 0;      // what the data sheet says
  uint64_t visible_bytes = 0;     // what frameworks see
  double compute_capability = 0;  // NVIDIA
  int32_t multiprocessor_count = 0;
  int32_t threads_per_multiprocessor = 0;
  uint64_t context_bytes = 0;        // of the driver and its kernels, one process
  bool joins = true;                 // several of them can work on one model
  std::vector<std::string> formats;  // that its matrix units compute in
  std::string least_driver;          // CUDA or ROCm release that knows it
  std::string source;
};

/// All cards, in the order of the file.
Result<std::vector<Card>> ReadCards(std::string_view toml_text);
/// The built-in table. It was checked when the program was built and tested.
const std::vector<Card>& BuiltInCards();
/// A card by id or name, or a capacity ("80GiB"). kNotFound lists what there is.
Result<Card> FindCard(std::string_view name);

}  // namespace memstrata::plan
