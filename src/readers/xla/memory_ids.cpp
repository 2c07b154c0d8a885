#include "readers/xla/memory_ids.h"

#include <algorithm>
#include <charconv>

namespace memstrata::xla {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at `at` without leading zeros, which can be compared by length and then as text.
std::string_view TakeDigits(std::string_view text, size_t& at) {
  const size_t begin = at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  std::string_view digits = text.substr(begin, at - begin);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

bool NaturallyBefore(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t k = 0;
  while (i < a.size() && k < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[k])) {
      const std::string_view left = TakeDigits(a, i);
      const std::string_view right = TakeDigits(b, k);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[k]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
      ++i, ++k;
    }
  }
  if (a.size() - i != b.size() - k) return a.size() - i < b.size() - k;
  return a < b;
}

}  // namespace

std::string AllocatorOf(std::string_view name, bool is_device_number) {
  if (is_device_number) return "tpu";
  if (name.find("bfc") != std::string_view::npos) return "bfc";
  if (name == "cpu" || name == "mklcpu") return "cpu";
  return std::string(name);
}

bool IsHostMemory(std::string_view name) {
  return name.find("host") != std::string_view::npos || name.find("cpu") != std::string_view::npos;
}

uint32_t DeviceOf(std::string_view name) {
  const size_t at = name.find_first_of("0123456789");
  uint32_t number = 0;
  if (at != std::string_view::npos) std::from_chars(name.data() + at, name.data() + name.size(), number);
  return number;
}

std::vector<uint32_t> DisplayOrder(const std::vector<MemoryId>& ids, const StringPool& strings) {
  std::vector<uint32_t> order(ids.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return NaturallyBefore(strings.Get(ids[a].name), strings.Get(ids[b].name));
  });
  return order;
}

}  // namespace memstrata::xla
