#include "readers/xla/xspace.h"

#include <bit>

#include "readers/xla/loading_walk.h"

namespace memstrata::xla {
namespace {

// Ids up to this are looked up in an array.
constexpr uint64_t kLargestDenseId = 1 << 20;

using protozero::tag_and_type;

// One entry of event_metadata or stat_metadata: {1 key, 2 value {1 id, 2 name, 5 stats}}. Throws.
EventMetadata ReadMapEntry(std::string_view entry) {
  EventMetadata read;
  std::string_view value;
  WireMessage message(entry);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::varint):
        read.id = message.get_int64();
        break;
      case tag_and_type(2, WireType::length_delimited):
        value = message.get_view();
        break;
      default:
        message.skip();
    }
  }
  WireMessage body(value);
  while (body.next()) {
    switch (body.tag_and_type()) {
      case tag_and_type(2, WireType::length_delimited):
        read.name = body.get_view();
        break;
      case tag_and_type(5, WireType::length_delimited):
        read.stats.push_back(ReadStat(body.get_view()));
        break;
      default:
        body.skip();
    }
  }
  return read;
}

class SpaceReader {
 public:
  explicit SpaceReader(ScratchBytes& bytes) : bytes_(bytes) {}

  Result<Space> Read() {
    LoadingWalk walk(bytes_.view(), bytes_);
    while (walk.Next()) {
      if (!walk.at().is_message()) continue;
      switch (walk.at().field()) {
        case 1:
          ReadPlane(walk.payload());
          break;
        case 2:
          space_.errors.push_back(walk.LoadPayload());
          break;
        case 3:
          space_.warnings.push_back(walk.LoadPayload());
          break;
        case 4:
          space_.hostnames.push_back(walk.LoadPayload());
          break;
        default:
          break;
      }
    }
    if (walk.at().damaged()) {
      if (space_.planes.empty()) {
        return Fail(ErrorCode::kCorruptInput, "This is not an XPlane file: its protobuf encoding is broken here.",
                    walk.at().offset_bytes());
      }
      NoteDamage(walk.at().offset_bytes());
    }
    space_.truncated = walk.at().cut_off();
    return std::move(space_);
  }

 private:
  uint64_t Offset(std::string_view part) const { return static_cast<uint64_t>(part.data() - bytes_.view().data()); }

  void NoteDamage(uint64_t offset) {
    if (space_.damage_count++ == 0) space_.first_damage_offset = offset;
  }

  void ReadPlane(std::string_view bytes) {
    Plane plane;
    LoadingWalk walk(bytes, bytes_);
    while (walk.Next()) {
      if (!walk.at().is_message()) continue;
      if (walk.at().field() == 3) {
        plane.lines.push_back(walk.payload());
        continue;
      }
      walk.LoadPayload();
      if (walk.at().field() == 2) {
        plane.name = walk.payload();
      } else if (!walk.at().cut_off()) {
        const Status status = GuardMessage(0, [&] { ReadTables(walk.at(), plane); });
        if (!status) NoteDamage(Offset(walk.payload()));
      }
    }
    if (walk.at().damaged()) NoteDamage(Offset(bytes) + walk.at().offset_bytes());
    space_.planes.push_back(std::move(plane));
  }

  static void ReadTables(const FieldWalk& walk, Plane& plane) {
    if (walk.field() == 4) {
      EventMetadata entry = ReadMapEntry(walk.payload());
      plane.event_names.Add(entry.id, entry.name);
      if (!entry.stats.empty()) plane.metadata.push_back(std::move(entry));
    } else if (walk.field() == 5) {
      const EventMetadata entry = ReadMapEntry(walk.payload());
      plane.stat_names.Add(entry.id, entry.name);
    } else if (walk.field() == 6) {
      plane.stats.push_back(ReadStat(walk.payload()));
    }
  }

  ScratchBytes& bytes_;
  Space space_;
};

}  // namespace

double Stat::number() const { return std::bit_cast<double>(bits); }

Stat ReadAnyStat(std::string_view bytes) {
  Stat stat;
  WireMessage message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, WireType::varint):
        stat.name_id = message.get_int64();
        break;
      case tag_and_type(2, WireType::fixed64):
        stat.kind = Stat::kDouble;
        stat.bits = message.get_fixed64();
        break;
      case tag_and_type(3, WireType::varint):
      case tag_and_type(4, WireType::varint):
      case tag_and_type(7, WireType::varint):
        stat.kind = static_cast<Stat::Kind>(message.tag());
        stat.bits = message.get_uint64();
        break;
      case tag_and_type(5, WireType::length_delimited):
      case tag_and_type(6, WireType::length_delimited):
      case tag_and_type(8, WireType::length_delimited):
        stat.kind = static_cast<Stat::Kind>(message.tag());
        stat.text = message.get_view();
        break;
      default:
        message.skip();
    }
  }
  return stat;
}

void NameTable::Add(int64_t id, std::string_view name) {
  const auto index = static_cast<uint32_t>(names_.size());
  names_.push_back(name);
  const auto key = static_cast<uint64_t>(id);
  if (key > kLargestDenseId) {
    sparse_[key] = index;
    return;
  }
  if (key >= dense_.size()) dense_.resize(key + 1, UINT32_MAX);
  dense_[key] = index;
}

Line ReadLineHeader(std::string_view message, ScratchBytes& bytes) {
  Line line;
  bool has_begin = false;
  bool has_name = false;
  LoadingWalk walk(message, bytes);
  while (!(has_begin && has_name) && walk.Next()) {
    if (walk.at().field() == 3 && walk.at().type() == WireType::varint) {
      line.begin_ns = walk.at().signed_number();
      has_begin = true;
    } else if (walk.at().field() == 2 && walk.at().is_message()) {
      line.name = walk.LoadPayload();
      has_name = true;
    }
  }
  return line;
}

Result<Space> ReadSpace(ScratchBytes& bytes) { return SpaceReader(bytes).Read(); }

}  // namespace memstrata::xla
