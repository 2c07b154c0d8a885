// Scratch memory of a sum over rows. When the rows are many and the columns few, PyTorch's reduction kernel spreads
// each column over several thread blocks, which meet in global memory. Source of the rules: the launch configuration in
// ATen/native/cuda/Reduce.cuh (PyTorch 2.7), for a contiguous input that is summed over its outer dimension.

#include <algorithm>

#include "plan/eager/tape.h"

namespace memstrata::plan::eager {
namespace {

constexpr int64_t kThreadsPerBlock = 512;
constexpr int64_t kWarp = 32;
constexpr int64_t kFewestValuesPerThread = 16;
constexpr int64_t kMostValuesPerThread = 256;

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

int64_t LastPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power * 2 <= value) power *= 2;
  return power;
}

int64_t ScratchBytes(int64_t rows, int64_t columns, const DeviceTraits& traits) {
  int64_t vector = 4;
  while (columns % vector != 0) vector /= 2;
  const int64_t lanes = columns / vector;
  const int64_t most_threads = kThreadsPerBlock / vector;
  const int64_t lanes_power = LastPowerOfTwo(std::min(lanes, most_threads));
  const int64_t rows_power = LastPowerOfTwo(std::min(rows, most_threads));
  int64_t width = std::min(lanes_power, kWarp);
  const int64_t height = std::min(rows_power, most_threads / width);
  width = std::min(lanes_power, most_threads / height);
  if (rows < std::min(height * kFewestValuesPerThread, kMostValuesPerThread)) return 0;
  const int64_t values_per_thread = DivideUp(rows, height);
  const int64_t grid = DivideUp(lanes, width);
  const int64_t target_grid =
      int64_t{traits.multiprocessor_count} * (traits.threads_per_multiprocessor / (width * height));
  if (values_per_thread < kMostValuesPerThread || grid > target_grid) return 0;
  const int64_t blocks =
      std::max(std::min(DivideUp(target_grid, grid), DivideUp(values_per_thread, kFewestValuesPerThread)),
               DivideUp(values_per_thread, kMostValuesPerThread));
  if (blocks <= 1) return 0;
  return int64_t{4} * columns * blocks * width * vector;
}

}  // namespace

Tensor Tape::SumOuter(const Tensor& x, const Shape& shape) {
  Tensor sum = Empty(shape, x.dtype);
  const int64_t columns = ElementCount(shape);
  if (columns == 0) return sum;
  const int64_t scratch_bytes = ScratchBytes(ElementCount(x.shape) / columns, columns, traits_);
  if (scratch_bytes > 0) const Tensor scratch = Empty({scratch_bytes}, DType::kBool);
  return sum;
}

}  // namespace memstrata::plan::eager
