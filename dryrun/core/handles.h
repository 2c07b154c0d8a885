#pragma once
// Opaque objects of the vendor's libraries. A caller only passes them back, so each is an empty object of its own.

#include <cstdint>

namespace memstrata::device {

struct Handle {
  void* stream = nullptr;
  int32_t math_mode = 0;
  int32_t pointer_mode = 0;
};

inline int32_t NewHandle(Handle** handle) {
  *handle = new Handle();
  return 0;
}
inline int32_t DeleteHandle(Handle* handle) {
  delete handle;
  return 0;
}

}  // namespace memstrata::device

/// Defines a pair of exported functions that make and destroy an object whose handle is the first argument.
#define MEMSTRATA_HANDLE_PAIR(create, destroy)                           \
  MEMSTRATA_ANSWER(int32_t) create(memstrata::device::Handle** handle) { \
    return memstrata::device::NewHandle(handle);                         \
  }                                                                      \
  MEMSTRATA_ANSWER(int32_t) destroy(memstrata::device::Handle* handle) { \
    return memstrata::device::DeleteHandle(handle);                      \
  }
