#include "oom/families/buffer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "oom/text/pattern.h"

namespace memstrata::oom {
namespace {

constexpr std::string_view kItem = " Size: ";

std::string_view Between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + open.size());
  const size_t end = text.find(close);
  return end == std::string_view::npos || end > 400 ? std::string_view{} : text.substr(0, end);
}

ListedBuffer ReadItem(std::string_view item, uint64_t size_bytes) {
  ListedBuffer buffer;
  buffer.size_bytes = size_bytes;
  buffer.unpadded_bytes = size_bytes;
  if (const auto unpadded = FindPattern(item, "Unpadded size: <size>")) {
    buffer.unpadded_bytes = std::min(unpadded->values[0].bytes, size_bytes);
  } else if (const auto extra = FindPattern(item, "Extra memory due to padding: <size>")) {
    buffer.unpadded_bytes = size_bytes - std::min(extra->values[0].bytes, size_bytes);
  }
  const std::string_view shape = Between(item, "Shape: ", "]");
  if (!shape.empty() && shape.find(' ') == std::string_view::npos) buffer.shape = std::string(shape) + "]";
  buffer.operation = Between(item, "op_name=\"", "\"");
  return buffer;
}

}  // namespace

std::vector<ListedBuffer> ListBuffers(std::string_view window) {
  std::vector<ListedBuffer> buffers;
  for (size_t at = window.find(kItem); at != std::string_view::npos && buffers.size() < kMostListed;) {
    const size_t next = window.find(kItem, at + kItem.size());
    const std::string_view item = window.substr(at, next == std::string_view::npos ? 4000 : next - at);
    if (const auto size = MatchPattern(item, " Size: <size>", 0); size && !size->values[0].IsImpossible())
      buffers.push_back(ReadItem(item, size->values[0].bytes));
    at = next;
  }
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const ListedBuffer& a, const ListedBuffer& b) { return a.size_bytes > b.size_bytes; });
  return buffers;
}

std::string DescribeBuffer(const ListedBuffer& buffer) {
  std::string text = FormatBytes(buffer.size_bytes);
  if (!buffer.shape.empty()) text += " " + buffer.shape;
  if (!buffer.operation.empty()) text += fmt::format(" ({})", buffer.operation);
  return text;
}

void AddBufferDetails(const std::vector<ListedBuffer>& buffers, OomReport& report) {
  for (size_t i = 0; i < std::min<size_t>(buffers.size(), 10); ++i) {
    const std::string name = buffers[i].shape.empty() ? buffers[i].operation : buffers[i].shape;
    report.details.push_back(
        {fmt::format("buffer {}", name.empty() ? fmt::format("{}", i + 1) : name), buffers[i].size_bytes, {}});
  }
}

std::vector<uint64_t> AxesOf(std::string_view shape) {
  std::vector<uint64_t> axes;
  const size_t open = shape.find('[');
  const size_t close = shape.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return axes;
  const char* at = shape.data() + open + 1;
  const char* end = shape.data() + close;
  while (at < end) {
    uint64_t axis = 0;
    const auto [after, problem] = std::from_chars(at, end, axis);
    if (problem != std::errc{}) return {};
    axes.push_back(axis);
    at = after + (after < end ? 1 : 0);
  }
  return axes;
}

}  // namespace memstrata::oom
