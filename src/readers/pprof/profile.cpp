#include "readers/pprof/profile.h"

#include "io/protowire/message.h"

namespace memstrata::pprof {
namespace {

using protozero::tag_and_type;
constexpr auto kMessage = WireType::length_delimited;
constexpr auto kVarint = WireType::varint;

template <class Number>
void AppendNumbers(WireMessage& message, std::vector<Number>& into) {
  if (message.wire_type() == kVarint) {
    into.push_back(static_cast<Number>(message.get_uint64()));
    return;
  }
  for (const uint64_t value : message.get_packed_uint64()) into.push_back(static_cast<Number>(value));
}

// The varint fields 1 to 4 of a small message.
struct FourNumbers {
  uint64_t values[5] = {};
};

FourNumbers ReadNumbers(std::string_view bytes) {
  FourNumbers numbers;
  WireMessage message(bytes);
  while (message.next()) {
    if (message.tag() <= 4 && message.wire_type() == kVarint) {
      numbers.values[message.tag()] = message.get_uint64();
    } else {
      message.skip();
    }
  }
  return numbers;
}

class ProfileReader {
 public:
  // Throws protozero::exception.
  Profile Read(std::string_view bytes) {
    CollectParts(bytes);
    for (const std::string_view part : value_types_) {
      const FourNumbers read = ReadNumbers(part);
      profile_.value_types.push_back({Text(read.values[1]), Text(read.values[2])});
    }
    for (const std::string_view part : functions_) {
      const FourNumbers read = ReadNumbers(part);
      function_names_[read.values[1]] = {Text(read.values[2]), Text(read.values[4])};
    }
    for (const std::string_view part : locations_) ReadLocation(part);
    for (const std::string_view part : samples_) ReadSample(part);
    return std::move(profile_);
  }

 private:
  void CollectParts(std::string_view bytes) {
    WireMessage message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, kMessage):
          value_types_.push_back(message.get_view());
          break;
        case tag_and_type(2, kMessage):
          samples_.push_back(message.get_view());
          break;
        case tag_and_type(4, kMessage):
          locations_.push_back(message.get_view());
          break;
        case tag_and_type(5, kMessage):
          functions_.push_back(message.get_view());
          break;
        case tag_and_type(6, kMessage):
          strings_.push_back(message.get_view());
          break;
        case tag_and_type(9, kVarint):
          profile_.time_ns = message.get_int64();
          break;
        default:
          message.skip();
      }
    }
  }

  std::string_view Text(uint64_t index) const {
    return index < strings_.size() ? strings_[static_cast<size_t>(index)] : std::string_view{};
  }

  void ReadLocation(std::string_view bytes) {
    uint64_t id = 0;
    std::vector<Line> lines;
    WireMessage message(bytes);
    while (message.next()) {
      if (message.tag_and_type() == tag_and_type(1, kVarint)) {
        id = message.get_uint64();
      } else if (message.tag_and_type() == tag_and_type(4, kMessage)) {
        const FourNumbers read = ReadNumbers(message.get_view());
        const auto found = function_names_.find(read.values[1]);
        Line line = found == function_names_.end() ? Line{} : found->second;
        line.line = static_cast<int64_t>(read.values[2]);
        lines.push_back(line);
      } else {
        message.skip();
      }
    }
    profile_.locations[id] = std::move(lines);
  }

  void ReadSample(std::string_view bytes) {
    Sample sample;
    WireMessage message(bytes);
    while (message.next()) {
      const bool is_number = message.wire_type() == kVarint || message.wire_type() == kMessage;
      if (message.tag() == 1 && is_number) {
        AppendNumbers(message, sample.locations);
      } else if (message.tag() == 2 && is_number) {
        AppendNumbers(message, sample.values);
      } else if (message.tag_and_type() == tag_and_type(3, kMessage)) {
        const FourNumbers read = ReadNumbers(message.get_view());
        sample.labels.push_back({Text(read.values[1]), Text(read.values[2])});
      } else {
        message.skip();
      }
    }
    profile_.samples.push_back(std::move(sample));
  }

  Profile profile_;
  std::vector<std::string_view> value_types_, samples_, locations_, functions_, strings_;
  FlatMap<uint64_t, Line> function_names_;
};

}  // namespace

Result<Profile> ReadProfile(std::string_view bytes) {
  Profile profile;
  MEMSTRATA_TRY(GuardMessage(0, [&] { profile = ProfileReader().Read(bytes); }));
  return profile;
}

}  // namespace memstrata::pprof
