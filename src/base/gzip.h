#pragma once
// gzip of whole buffers, for what is sent to or embedded in the web page.

#include <string>
#include <string_view>

#include "base/result.h"

namespace memstrata {

/// level: 1 (fast) to 9 (small). The output depends on nothing but the input. cost: O(n)
std::string GzipCompress(std::string_view bytes, int level);
/// errors: kCorruptInput, kLimitExceeded when it unpacks to more than `limit_bytes`
Result<std::string> GzipDecompress(std::string_view bytes, size_t limit_bytes);

}  // namespace memstrata
