#pragma once
// Base64 with padding (RFC 4648, section 4).

#include <string>
#include <string_view>

namespace memstrata {

std::string Base64Encode(std::string_view bytes);

}  // namespace memstrata
