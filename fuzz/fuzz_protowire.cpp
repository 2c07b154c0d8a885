// The protobuf layer on any bytes: the tolerant walk must end, stay inside its input and agree with protozero on every
// message that protozero accepts.

#include <cstdlib>
#include <vector>

#include "io/protowire/message.h"

namespace {

struct Field {
  uint32_t number;
  memstrata::WireType type;
  std::string_view payload;
  bool operator==(const Field&) const = default;
};

std::vector<Field> Walk(std::string_view bytes, bool& whole) {
  std::vector<Field> fields;
  memstrata::FieldWalk walk(bytes);
  while (walk.Next()) {
    const std::string_view payload = walk.payload();
    if (!payload.empty() &&
        (payload.data() < bytes.data() || payload.data() + payload.size() > bytes.data() + bytes.size())) {
      std::abort();
    }
    fields.push_back({walk.field(), walk.type(), payload});
  }
  whole = !walk.cut_off() && !walk.damaged();
  return fields;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool whole = false;
  const std::vector<Field> walked = Walk(bytes, whole);
  std::vector<Field> read;
  const memstrata::Status status = memstrata::GuardMessage(0, [&] {
    memstrata::WireMessage message(bytes);
    while (message.next()) {
      const Field field{message.tag(), message.wire_type(), {}};
      read.push_back(field);
      if (field.type == memstrata::WireType::length_delimited) {
        read.back().payload = message.get_view();
      } else {
        message.skip();
      }
    }
  });
  if (!status) return 0;
  // What protozero reads to the end, the walk reads alike; it is stricter only about varints longer than ten bytes.
  if (whole && walked != read) std::abort();
  return 0;
}
