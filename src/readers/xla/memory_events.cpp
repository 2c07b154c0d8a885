#include "readers/xla/memory_events.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "io/source/unpack.h"
#include "readers/xla/data_types.h"

namespace memstrata::xla {
namespace {

// No allocator reports an exabyte; sums of three such values still fit.
constexpr int64_t kLargestSizeBytes = int64_t{1} << 60;
constexpr uint64_t kLongestTextBytes = uint64_t{1} << 20;
// Times beyond this are damage, and would overflow picoseconds later.
constexpr int64_t kLongestTimePs = int64_t{50} * 24 * 3600 * 1'000'000'000'000;  // 50 days

using protozero::tag_and_type;

// A number in whatever encoding: text "12" is 12, a double is truncated. `is_plain` says whether XProf reads it too.
struct Number {
  int64_t value = 0;
  bool is_plain = false;
  bool fits = true;
};

Number ReadNumber(const Stat& stat, std::string_view text) {
  switch (stat.kind) {
    case Stat::kSigned:
      return {static_cast<int64_t>(stat.bits), true};
    case Stat::kUnsigned:
      return {static_cast<int64_t>(stat.bits), false};
    case Stat::kDouble: {
      const double number = stat.number();
      const bool fits = std::isfinite(number) && std::fabs(number) < 9.2e18;
      return {fits ? static_cast<int64_t>(number) : 0, false, fits};
    }
    default: {
      int64_t value = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
      return {value, false, problem == std::errc{} && end == text.data() + text.size()};
    }
  }
}

// The varint that fills [begin, end), of 8 bytes at most; `readable_end` is where the readable memory ends. Eight bytes
// at once: their low seven bits are moved together in three steps.
inline bool ReadShortVarint(const char* begin, const char* end, const char* readable_end, uint64_t& value) {
  const auto size = static_cast<unsigned>(end - begin);
  if (size == 0 || size > 8 || readable_end - begin < 8) return false;
  constexpr uint64_t kContinues = 0x8080808080808080;
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * size);
  uint64_t bits = 0;
  std::memcpy(&bits, begin, sizeof bits);
  bits &= mask;
  if ((bits & kContinues) != (kContinues & (mask >> 8))) return false;  // all bytes but the last continue
  bits &= ~kContinues;
  bits = (bits & 0x7f007f007f007f00) >> 1 | (bits & 0x007f007f007f007f);
  bits = (bits & 0xffff0000ffff0000) >> 2 | (bits & 0x0000ffff0000ffff);
  value = (bits & 0xffffffff00000000) >> 4 | (bits & 0x00000000ffffffff);
  return true;
}

}  // namespace

enum class MemoryEventDecoder::Field : uint8_t {
  // Numbers that are kept as they are, in Event::numbers; sizes first.
  kStackBytes,
  kHeapBytes,
  kFreeBytes,
  kPeakBytes,
  kRequestedBytes,
  kSizeBytes,
  kAddress,
  kStep,
  kOther,  // a statistic of no interest
  // What needs a closer look:
  kDataType,
  kFragmentation,
  kAllocatorName,
  kIndexOnHost,
  kDeviceOrdinal,
  kOp,
  kRegion,
  kShape,
};

struct MemoryEventDecoder::Event {
  static constexpr size_t kSizeCount = static_cast<size_t>(Field::kSizeBytes) + 1;
  static constexpr size_t kNumberCount = static_cast<size_t>(Field::kOther) + 1;

  // By Field. What is not read stays as here.
  std::array<int64_t, kNumberCount> numbers = {0, 0, static_cast<int64_t>(kUnknownBytes), 0, 0, 0, 0, kNoStep, 0};
  uint32_t seen = 0;  // bit by Field: a number was read
  int64_t offset_ps = 0;
  double fragmentation = 0;
  int64_t xprof_step = kNoStep;
  StringId memory_id{0};
  StringId op{0};
  StringId region{0};
  StringId data_type{kNone};
  StringId shape{0};
  uint16_t blind = 0;
  bool is_allocation = false;
  bool is_device_number = false;
  bool is_nan = false;
  bool is_possible = true;
  bool is_damaged = false;

  void Set(Field field, int64_t value) {
    numbers[static_cast<size_t>(field)] = value;
    seen |= 1U << static_cast<unsigned>(field);
  }
  void SetAllocator(StringId name) {
    blind &= static_cast<uint16_t>(~(kBlindMemoryIdEmpty | kBlindMemoryIdZero));
    is_device_number = false;
    memory_id = name;
  }
  bool has(Field field) const { return (seen >> static_cast<unsigned>(field) & 1U) != 0; }
  int64_t number(Field field) const { return numbers[static_cast<size_t>(field)]; }
  uint64_t bytes(Field field) const { return static_cast<uint64_t>(number(field)); }
  bool sizes_are_possible() const {
    for (size_t field = 0; field < kSizeCount; ++field) {
      const bool is_read = (seen >> field & 1U) != 0;
      if (is_read && static_cast<uint64_t>(numbers[field]) > uint64_t{kLargestSizeBytes}) return false;
    }
    return true;
  }
};

bool MemoryEventDecoder::StartPlane(const Plane& plane) {
  using enum Field;
  static constexpr std::pair<std::string_view, Field> kFields[] = {
      {"allocator_name", kAllocatorName},
      {"index_on_host", kIndexOnHost},
      {"device_ordinal", kDeviceOrdinal},
      {"bytes_reserved", kStackBytes},
      {"bytes_allocated", kHeapBytes},
      {"bytes_available", kFreeBytes},
      {"fragmentation", kFragmentation},
      {"peak_bytes_in_use", kPeakBytes},
      {"requested_bytes", kRequestedBytes},
      {"allocation_bytes", kSizeBytes},
      {"addr", kAddress},
      {"tf_op", kOp},
      {"region_type", kRegion},
      {"data_type", kDataType},
      {"shape", kShape},
      {"group_id", kStep},
  };
  plane_ = &plane;
  const std::vector<std::string_view>& stats = plane.stat_names.names();
  stat_fields_.assign(stats.size(), kOther);
  reference_ids_.assign(stats.size(), UINT32_MAX);
  for (size_t i = 0; i < stats.size(); ++i) {
    for (const auto& [name, field] : kFields) {
      if (stats[i] == name) stat_fields_[i] = field;
    }
  }
  for (size_t id = 0; id < small_fields_.size(); ++id) {
    const uint32_t index = plane.stat_names.Find(static_cast<int64_t>(id));
    small_fields_[id] = index == UINT32_MAX ? kOther : stat_fields_[index];
  }
  bool any = false;
  const std::vector<std::string_view>& events = plane.event_names.names();
  event_kinds_.assign(events.size(), 0);
  for (size_t i = 0; i < events.size(); ++i) {
    event_kinds_[i] = events[i] == "MemoryAllocation" ? 1 : events[i] == "MemoryDeallocation" ? 2 : 0;
    any |= event_kinds_[i] != 0;
  }
  return any;
}

void DecodeCounts::NoteDamage(uint64_t& counter, uint64_t offset_bytes) {
  first_damage_offset = any_damage() ? std::min(first_damage_offset, offset_bytes) : offset_bytes;
  ++counter;
}

void DecodeCounts::Add(const DecodeCounts& more) {
  if (more.any_damage())
    first_damage_offset =
        any_damage() ? std::min(first_damage_offset, more.first_damage_offset) : more.first_damage_offset;
  other_events += more.other_events;
  damaged_events += more.damaged_events;
  impossible_values += more.impossible_values;
  without_heap_bytes += more.without_heap_bytes;
  damaged_strings += more.damaged_strings;
  cut_off |= more.cut_off;
}

void MemoryEventDecoder::Decode(std::string_view bytes, int64_t begin_ps, uint32_t line) {
  Event event;
  bool is_memory = false;
  const Status status = GuardMessage(0, [&] { is_memory = ReadEvent(bytes, event); });
  if (!status || event.is_damaged) {
    NoteDamage(counts_.damaged_events, bytes);
  } else if (!is_memory) {
    ++counts_.other_events;
  } else if (!event.is_possible || !event.sizes_are_possible() || event.offset_ps < -kLongestTimePs ||
             event.offset_ps > kLongestTimePs) {
    NoteDamage(counts_.impossible_values, bytes);
  } else {
    FillStep(bytes, event);
    Append(event, begin_ps + event.offset_ps, line);
  }
}

// Whether the event is a memory event; its fields are only read then. Throws protozero::exception.
bool MemoryEventDecoder::ReadEvent(std::string_view bytes, Event& event) {
  int64_t name_id = 0;
  FieldWalk walk(bytes);
  if (!bytes.empty() && bytes[0] == '\x08') {  // the name comes first, as every known writer puts it
    walk.Next();
    name_id = walk.signed_number();
  } else {
    FieldWalk search(bytes);
    while (search.Next()) {
      if (search.field() == 1 && search.type() == WireType::varint) name_id = search.signed_number();
    }
  }
  const uint32_t name = plane_->event_names.Find(name_id);
  const uint8_t kind = name == UINT32_MAX ? 0 : event_kinds_[name];
  if (kind == 0) return false;
  event.is_allocation = kind == 1;
  const char* at = bytes.data() + walk.offset_bytes();
  const char* const end = bytes.data() + bytes.size();
  while (at != end && !event.is_damaged) {
    if (!TakePlainStat(at, end, event)) at = TakeAnyField(at, end, event);
  }
  return true;
}

// The form that every known writer uses for statistics: a short message of a one-byte name id and a value. False, with
// nothing taken, for any other field.
inline bool MemoryEventDecoder::TakePlainStat(const char*& at, const char* end, Event& event) {
  constexpr ptrdiff_t kHeadBytes = 5;  // field, length, key of the id, id, key of the value
  if (end - at <= kHeadBytes || at[0] != '\x22' || at[2] != '\x08' || at[3] < 0) return false;
  const auto length = static_cast<unsigned char>(at[1]);
  const char* const stat_end = at + 2 + length;
  if (length >= 0x80 || length <= kHeadBytes - 2 || stat_end > end) return false;
  const Field field = small_fields_[static_cast<size_t>(at[3])];
  if (!TakeValue(field, at[4], at + kHeadBytes, stat_end, event)) return false;
  at = stat_end;
  return true;
}

// `key` is that of the value, which lies in [begin, end).
inline bool MemoryEventDecoder::TakeValue(Field field, char key, const char* begin, const char* end, Event& event) {
  if (field == Field::kOther) return true;
  if (key == '\x11') {
    if (field != Field::kFragmentation || end - begin != 8) return false;
    double number = 0;
    std::memcpy(&number, begin, sizeof number);
    if (!std::isfinite(number)) return false;
    event.fragmentation = number;
    return true;
  }
  uint64_t value = 0;
  if ((key != '\x20' && key != '\x38') || !ReadShortVarint(begin, end, whole_.data() + whole_.size(), value))
    return false;
  return key == '\x20' ? TakeNumber(field, value, event) : TakeReference(field, value, event);
}

inline bool MemoryEventDecoder::TakeNumber(Field field, uint64_t value, Event& event) {
  if (field < Field::kOther) {
    event.Set(field, static_cast<int64_t>(value));
    return true;
  }
  if (field != Field::kDataType || value >= data_types_.size()) return false;
  event.data_type = KnownDataType(value);
  return true;
}

inline bool MemoryEventDecoder::TakeReference(Field field, uint64_t id, Event& event) {
  switch (field) {
    case Field::kOp:
      event.op = Reference(id);
      return true;
    case Field::kRegion:
      event.region = Reference(id);
      return true;
    case Field::kShape:
      event.shape = Reference(id);
      return true;
    case Field::kAllocatorName:
      event.SetAllocator(Reference(id));
      return true;
    default:
      return false;
  }
}

// Reads one field of an event of any form; returns where the next one begins.
const char* MemoryEventDecoder::TakeAnyField(const char* at, const char* end, Event& event) {
  FieldWalk walk({at, static_cast<size_t>(end - at)});
  walk.Next();
  event.is_damaged = walk.cut_off() || walk.damaged();
  if (event.is_damaged) return end;
  if (walk.field() == 4 && walk.is_message()) {
    ReadField(ReadStat(walk.payload()), event);
  } else if (walk.field() == 2 && walk.type() == WireType::varint) {
    event.offset_ps = walk.signed_number();
  }
  return at + walk.offset_bytes();
}

void MemoryEventDecoder::ReadField(const Stat& stat, Event& event) {
  static constexpr std::array<uint16_t, Event::kNumberCount> kBlindOf = {
      kBlindStack, kBlindHeap, kBlindFree, kBlindPeak, kBlindRequested, kBlindSize, kBlindAddress, kBlindStep, 0};
  const uint32_t name = plane_->stat_names.Find(stat.name_id);
  const Field field = name == UINT32_MAX ? Field::kOther : stat_fields_[name];
  const auto number = [&](uint16_t blind_bit) {
    const std::string_view text =
        stat.kind == Stat::kReference ? plane_->stat_names.Name(static_cast<int64_t>(stat.bits)) : stat.text;
    const Number read = ReadNumber(stat, text);
    if (!read.is_plain) event.blind |= blind_bit;
    if (!read.fits) event.is_possible = false;
    return read.value;
  };
  switch (field) {
    case Field::kOther:
      break;
    case Field::kAllocatorName:
      ReadMemoryId(stat, false, event);
      break;
    case Field::kIndexOnHost:
    case Field::kDeviceOrdinal:
      ReadMemoryId(stat, true, event);
      break;
    case Field::kFragmentation:
      if (stat.kind == Stat::kDouble) {
        event.fragmentation = stat.number();
      } else {
        event.fragmentation = static_cast<double>(number(kBlindFragmentation));
      }
      if (!std::isfinite(event.fragmentation)) {  // nothing is free: the allocator divides by 0
        event.fragmentation = 0;
        event.is_nan = true;
      }
      break;
    case Field::kOp:
      event.op = ReadText(stat, kBlindOp, event);
      break;
    case Field::kRegion:
      event.region = ReadText(stat, kBlindRegion, event);
      break;
    case Field::kDataType:
      event.data_type = ReadDataType(stat, event);
      break;
    case Field::kShape:
      event.shape = ReadText(stat, kBlindShape, event);
      break;
    default:
      event.Set(field, number(kBlindOf[static_cast<size_t>(field)]));
  }
}

void MemoryEventDecoder::FillStep(std::string_view bytes, Event& event) const {
  event.xprof_step = event.number(Field::kStep);
  if (steps_ == nullptr || steps_->empty() || event.has(Field::kStep)) return;
  const StepOfEvent* found = steps_->Find(bytes);
  if (found == nullptr) return;
  event.Set(Field::kStep, found->step);
  event.xprof_step = found->xprof_step;
}

// Of several identities in one event the last counts, as in XProf.
void MemoryEventDecoder::ReadMemoryId(const Stat& stat, bool is_number, Event& event) {
  event.blind &= static_cast<uint16_t>(~(kBlindMemoryIdEmpty | kBlindMemoryIdZero));
  event.is_device_number = is_number;
  if (!is_number) {
    event.memory_id = ReadText(stat, kBlindMemoryIdEmpty, event);
    return;
  }
  const Number read = ReadNumber(stat, stat.text);
  if (!read.is_plain) event.blind |= kBlindMemoryIdZero;
  event.memory_id = strings_.Intern(fmt::format_int(read.value).c_str());
}

StringId MemoryEventDecoder::ReadText(const Stat& stat, uint16_t blind_bit, Event& event) {
  switch (stat.kind) {
    case Stat::kReference:
      return Reference(stat.bits);
    case Stat::kText:
      return strings_.Intern(stat.text);
    default:
      break;
  }
  event.blind |= blind_bit;
  switch (stat.kind) {
    case Stat::kCompressed:
      return Unpacked(stat.text);
    case Stat::kBytes:
      return strings_.Intern(stat.text);
    case Stat::kSigned:
      return strings_.Intern(fmt::format_int(static_cast<int64_t>(stat.bits)).c_str());
    case Stat::kUnsigned:
      return strings_.Intern(fmt::format_int(stat.bits).c_str());
    case Stat::kDouble:
      return strings_.Intern(fmt::format("{:g}", stat.number()));
    default:
      return StringId{0};
  }
}

StringId MemoryEventDecoder::ReadDataType(const Stat& stat, Event& event) {
  if (stat.kind == Stat::kText || stat.kind == Stat::kReference || stat.kind == Stat::kCompressed) {
    const StringId name = ReadText(stat, kBlindDataType, event);
    event.blind |= kBlindDataType;
    return name;
  }
  const Number read = ReadNumber(stat, {});
  if (!read.is_plain) event.blind |= kBlindDataType;
  if (read.value < 0 || static_cast<size_t>(read.value) >= data_types_.size()) {
    return strings_.Intern(DataTypeName(read.value));
  }
  return KnownDataType(static_cast<uint64_t>(read.value));
}

inline StringId MemoryEventDecoder::KnownDataType(uint64_t number) {
  StringId& known = data_types_[number];
  if (!known.has_value()) known = strings_.Intern(DataTypeName(static_cast<int64_t>(number)));
  return known;
}

StringId MemoryEventDecoder::Reference(uint64_t id) {
  const uint32_t index = plane_->stat_names.Find(static_cast<int64_t>(id));
  if (index == UINT32_MAX) return StringId{0};
  uint32_t& known = reference_ids_[index];
  if (known == UINT32_MAX) known = strings_.Intern(plane_->stat_names.names()[index]).value;
  return StringId{known};
}

StringId MemoryEventDecoder::Unpacked(std::string_view packed) {
  const auto [entry, is_new] = unpacked_.try_emplace(std::string(packed), 0);
  if (!is_new) return StringId{entry->second};
  const std::unique_ptr<ByteSource> source =
      MakeGzipSource(std::make_unique<MemorySource>(packed), std::make_shared<ContainerEnd>());
  const Result<std::string> text = ReadAll(*source, kLongestTextBytes);
  if (text) {
    entry->second = strings_.Intern(*text).value;
  } else {
    NoteDamage(counts_.damaged_strings, packed);
  }
  return StringId{entry->second};
}

uint32_t MemoryEventDecoder::MemoryIdRow(const Event& event) {
  if (event.memory_id.value == last_memory_id_) return last_memory_id_row_;
  const auto [entry, is_new] =
      memory_id_rows_.try_emplace(event.memory_id.value, static_cast<uint32_t>(into_.memory_ids.size()));
  if (is_new) into_.memory_ids.push_back({event.memory_id, event.is_device_number});
  last_memory_id_ = event.memory_id.value;
  last_memory_id_row_ = entry->second;
  return entry->second;
}

void MemoryEventDecoder::Append(const Event& event, int64_t time_ps, uint32_t line) {
  using enum Field;
  if (!event.has(kHeapBytes)) ++counts_.without_heap_bytes;
  XPlaneEventTable& details = into_.details;
  details.time_ps.PushBack(time_ps);
  details.line.PushBack(line);
  details.stack_bytes.PushBack(event.bytes(kStackBytes));
  details.heap_bytes.PushBack(event.bytes(kHeapBytes));
  details.free_bytes.PushBack(event.bytes(kFreeBytes));
  details.peak_bytes.PushBack(event.bytes(kPeakBytes));
  details.requested_bytes.PushBack(event.bytes(kRequestedBytes));
  details.fragmentation.PushBack(event.fragmentation);
  details.op.PushBack(event.op);
  details.region.PushBack(event.region);
  details.data_type.PushBack(event.data_type.has_value() ? event.data_type : no_data_type_);
  details.shape.PushBack(event.shape);
  details.step.PushBack(event.number(kStep));
  if (steps_ != nullptr && steps_->differ) details.xprof_step.PushBack(event.xprof_step);
  details.blind.PushBack(event.blind);
  details.nan.PushBack(event.is_nan ? 1 : 0);
  into_.addr.PushBack(event.bytes(kAddress));
  into_.size_bytes.PushBack(event.bytes(kSizeBytes));
  into_.is_allocation.PushBack(event.is_allocation ? 1 : 0);
  into_.memory_id.PushBack(MemoryIdRow(event));
}

}  // namespace memstrata::xla
