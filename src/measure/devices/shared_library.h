#pragma once
// A shared library that is opened at run time and asked for functions by name.

#include <dlfcn.h>

#include <string>

namespace memstrata::measure {

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  bool is_open() const { return handle_ != nullptr; }
  /// Sets `function` to the symbol, or to nullptr; answers whether it is there.
  template <class Function>
  bool Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_;
};

}  // namespace memstrata::measure
