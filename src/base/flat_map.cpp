#include "base/flat_map.h"

#include <random>

namespace memstrata {

uint64_t HashSeed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  return seed;
}

}  // namespace memstrata
