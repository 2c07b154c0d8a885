#pragma once
// Whether bytes are the beginning of a pickle.

#include <string_view>

namespace memstrata::pickle {

/// Protocols 2 to 5 by their header; 0 and 1, which have none, by the container or global that they begin with.
inline bool LooksLikePickle(std::string_view head) {
  if (head.size() < 2) return false;
  if (head[0] == '\x80') return static_cast<unsigned char>(head[1]) >= 2 && static_cast<unsigned char>(head[1]) < 16;
  for (const std::string_view start : {"(d", "(l", "(t", "(i", "]q", "}q", "]p", "}p", "](", "}("}) {
    if (head.starts_with(start)) return true;
  }
  return head[0] == 'c' && head.find('\n') != std::string_view::npos;  // GLOBAL
}

}  // namespace memstrata::pickle
