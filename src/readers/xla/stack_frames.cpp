#include "readers/xla/stack_frames.h"

#include "io/protowire/message.h"

namespace memstrata::xla {
namespace {

using protozero::tag_and_type;
constexpr size_t kMostFrames = 256;

// The varint fields 1 to 4 of a small message.
struct FourNumbers {
  int64_t values[5] = {};
};

FourNumbers ReadNumbers(std::string_view bytes) {
  FourNumbers numbers;
  WireMessage message(bytes);
  while (message.next()) {
    if (message.tag() <= 4 && message.wire_type() == WireType::varint) {
      numbers.values[message.tag()] = message.get_int64();
    } else {
      message.skip();
    }
  }
  return numbers;
}

// Ids count from 1.
template <class Row>
const Row* At(const std::vector<Row>& rows, int64_t id) {
  return id >= 1 && static_cast<uint64_t>(id) <= rows.size() ? &rows[static_cast<size_t>(id - 1)] : nullptr;
}

}  // namespace

StackFrames::StackFrames(std::string_view bytes, StringPool& strings) {
  WireMessage message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::length_delimited):
        files_.push_back(strings.Intern(message.get_view()));
        break;
      case tag_and_type(3, WireType::length_delimited): {
        const FourNumbers read = ReadNumbers(message.get_view());
        locations_.push_back(
            {read.values[1], static_cast<uint32_t>(read.values[3]), static_cast<uint32_t>(read.values[4])});
        break;
      }
      case tag_and_type(4, WireType::length_delimited): {
        const FourNumbers read = ReadNumbers(message.get_view());
        frames_.push_back({read.values[1], read.values[2]});
        break;
      }
      default:
        message.skip();
    }
  }
}

std::vector<ProgramFrame> StackFrames::Chain(int64_t id) const {
  std::vector<ProgramFrame> chain;
  for (const Frame* frame = At(frames_, id); frame != nullptr && chain.size() < kMostFrames;
       frame = At(frames_, frame->parent)) {
    const Location* location = At(locations_, frame->location);
    if (location == nullptr) break;
    const StringId* file = At(files_, location->file);
    chain.push_back({file == nullptr ? StringId{0} : *file, location->line, location->column});
  }
  return chain;
}

}  // namespace memstrata::xla
