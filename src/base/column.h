#pragma once
// A growing array of plain values: the only container that tables are made of.
//
// Growth goes through realloc, which on large blocks moves page tables instead of bytes (mremap), so that building a
// table of 10 M rows never holds two copies of it. Untouched capacity costs address space, not memory.
// Not for: values that own something.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace memstrata {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  ~Column() { std::free(values_); }
  Column(Column&& other) noexcept { Swap(other); }
  Column& operator=(Column&& other) noexcept {
    Column moved(std::move(other));
    Swap(moved);
    return *this;
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  void PushBack(T value) {
    if (size_ == capacity_) Grow(size_ + 1);
    values_[size_++] = value;
  }
  /// PushBack without looking at the capacity, which Reserve() must have made.
  void PushBackReserved(T value) { values_[size_++] = value; }
  /// Drops the values from `size` on.
  void Truncate(size_t size) { size_ = size < size_ ? size : size_; }
  size_t capacity() const { return capacity_; }
  /// For loops that fill reserved room through a pointer of their own, and say afterwards how far they came.
  T* data() { return values_; }
  void SetFilled(size_t size) { size_ = size; }
  /// Makes room for `capacity` values; does not change the size.
  void Reserve(size_t capacity) {
    if (capacity > capacity_) Reallocate(capacity);
  }
  /// Makes room for `more` values on top of those there are, growing geometrically.
  void ReserveMore(size_t more) {
    if (size_ + more > capacity_) Grow(size_ + more);
  }
  /// New values are `fill`.
  void Resize(size_t size, T fill) {
    if (size > capacity_) Reallocate(size);
    for (size_t i = size_; i < size; ++i) values_[i] = fill;
    size_ = size;
  }
  void Append(std::span<const T> more) {
    if (size_ + more.size() > capacity_) Grow(size_ + more.size());
    for (const T& value : more) values_[size_++] = value;
  }
  /// Gives unused capacity back.
  void ShrinkToFit() {
    if (size_ < capacity_ && size_ > 0) Reallocate(size_);
  }

  T& operator[](size_t row) { return values_[row]; }
  const T& operator[](size_t row) const { return values_[row]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const T> span() const { return {values_, size_}; }
  std::span<T> mutable_span() { return {values_, size_}; }

 private:
  void Grow(size_t at_least) {
    size_t capacity = capacity_ < 64 ? 64 : capacity_ + capacity_ / 2;
    Reallocate(capacity < at_least ? at_least : capacity);
  }
  void Reallocate(size_t capacity) {
    if (capacity > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    void* moved = std::realloc(static_cast<void*>(values_), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    values_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }
  void Swap(Column& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* values_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace memstrata
