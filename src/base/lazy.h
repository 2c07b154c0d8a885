#pragma once
// A value that is computed by the first thread that asks for it, and kept. Others that ask meanwhile wait.

#include <mutex>
#include <optional>

namespace memstrata {

template <class T>
class Lazy {
 public:
  /// The value, constructed from what `make()` returns; `make` runs at most once unless it throws.
  template <class Make>
  const T& Get(Make&& make) {
    std::call_once(once_, [&] { value_.emplace(make()); });
    return *value_;
  }

 private:
  std::once_flag once_;
  std::optional<T> value_;
};

}  // namespace memstrata
