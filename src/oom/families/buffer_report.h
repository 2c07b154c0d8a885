#pragma once
// The list of largest buffers that XLA prints under an error, on GPUs ("Peak buffers") and on TPUs ("Largest program
// allocations").

#include <string>
#include <string_view>
#include <vector>

#include "oom/oom_report.h"

namespace memstrata::oom {

struct ListedBuffer {
  uint64_t size_bytes = 0;
  uint64_t unpadded_bytes = 0;  // = size where the list does not say
  std::string shape;            // "s32[8388608,8,4]"; empty = not said
  std::string operation;        // op_name; empty = not said

  uint64_t PaddingBytes() const { return size_bytes - unpadded_bytes; }
};

/// At most kMostListed, the largest first.
std::vector<ListedBuffer> ListBuffers(std::string_view window);
inline constexpr size_t kMostListed = 64;

/// "32.0 GiB s32[8388608,8,4] (jit(f)/dot)".
std::string DescribeBuffer(const ListedBuffer& buffer);
/// A detail for each of the first ten.
void AddBufferDetails(const std::vector<ListedBuffer>& buffers, OomReport& report);

/// The axes of a shape such as "s32[8388608,8,4]{2,1,0:T(8,128)}"; empty when it is none.
std::vector<uint64_t> AxesOf(std::string_view shape);

}  // namespace memstrata::oom
