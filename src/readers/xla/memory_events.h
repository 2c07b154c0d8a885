#pragma once
// Decodes the MemoryAllocation and MemoryDeallocation events of a host plane into columns, in the order in which they
// come. Nothing is sorted or paired here (heap_builder.h does that); parallel_decoder.h hands out the events.
//
// A value is taken in whatever encoding the file has it; where XProf would see 0 or an empty text instead, the event
// carries a bit (XProfBlind), so that XProf's own output can be printed later.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/store/xplane_events.h"
#include "model/table/string_pool.h"
#include "readers/xla/step_groups.h"
#include "readers/xla/xspace.h"

namespace memstrata::xla {

/// One memory ID of the file: an allocator's name or a device number.
struct MemoryId {
  StringId name;
  bool is_device_number = false;  // TPU: index_on_host or device_ordinal
};

/// The decoded events, row by row as in the file. `details.file_order` stays empty: it is the row number.
struct DecodedEvents {
  XPlaneEventTable details;
  Column<uint64_t> addr;
  Column<uint64_t> size_bytes;
  Column<uint8_t> is_allocation;
  Column<uint32_t> memory_id;  // → memory_ids
  std::vector<MemoryId> memory_ids;

  size_t size() const { return addr.size(); }
};

/// What could not be taken as it stood, counted.
struct DecodeCounts {
  uint64_t other_events = 0;        // events that are not about memory
  uint64_t damaged_events = 0;      // broken encoding: skipped
  uint64_t impossible_values = 0;   // negative sizes or times out of range: skipped
  uint64_t without_heap_bytes = 0;  // no bytes_allocated: counted as 0
  uint64_t damaged_strings = 0;     // compressed text that does not unpack: taken as empty
  uint64_t first_damage_offset = 0;
  bool cut_off = false;  // a line ends in the middle of an event

  void NoteDamage(uint64_t& counter, uint64_t offset_bytes);
  void Add(const DecodeCounts& more);

 private:
  bool any_damage() const { return damaged_events + impossible_values + damaged_strings > 0; }
};

class MemoryEventDecoder {
 public:
  /// `whole` is the file, for offsets; it, `strings` and `into` must outlive the decoder.
  MemoryEventDecoder(std::string_view whole, StringPool& strings, DecodedEvents& into)
      : whole_(whole), strings_(strings), into_(into), no_data_type_(strings.Intern("INVALID")) {}

  /// Takes the names of the plane whose lines come next. False when it declares no memory events, so that its lines
  /// need not be decoded.
  bool StartPlane(const Plane& plane);
  /// Steps of events that carry none themselves; must outlive the decoder.
  void set_steps(const StepGroups& steps) { steps_ = &steps; }
  /// Decodes one event of the plane; `begin_ps` is the start of its line from the profiler's time zero, `line` the row
  /// of the line in XPlaneTable::lines.
  void Decode(std::string_view event, int64_t begin_ps, uint32_t line);

  const DecodeCounts& counts() const { return counts_; }

 private:
  enum class Field : uint8_t;
  struct Event;

  bool ReadEvent(std::string_view bytes, Event& event);
  bool TakePlainStat(const char*& at, const char* end, Event& event);
  bool TakeValue(Field field, char key, const char* begin, const char* end, Event& event);
  bool TakeNumber(Field field, uint64_t value, Event& event);
  bool TakeReference(Field field, uint64_t id, Event& event);
  const char* TakeAnyField(const char* at, const char* end, Event& event);
  StringId KnownDataType(uint64_t number);
  void ReadField(const Stat& stat, Event& event);
  void ReadMemoryId(const Stat& stat, bool is_number, Event& event);
  StringId ReadText(const Stat& stat, uint16_t blind_bit, Event& event);
  StringId ReadDataType(const Stat& stat, Event& event);
  void FillStep(std::string_view bytes, Event& event) const;
  StringId Reference(uint64_t id);
  StringId Unpacked(std::string_view packed);
  void Append(const Event& event, int64_t time_ps, uint32_t line);
  uint32_t MemoryIdRow(const Event& event);
  void NoteDamage(uint64_t& counter, std::string_view bytes) {
    counts_.NoteDamage(counter, static_cast<uint64_t>(bytes.data() - whole_.data()));
  }

  std::string_view whole_;
  StringPool& strings_;
  DecodedEvents& into_;
  DecodeCounts counts_;
  StringId no_data_type_;
  std::array<StringId, 128> data_types_{};  // names by number, as far as they came up
  const StepGroups* steps_ = nullptr;
  const Plane* plane_ = nullptr;
  std::vector<Field> stat_fields_;         // by index in plane_->stat_names
  std::array<Field, 128> small_fields_{};  // the same, by ids below 128
  std::vector<uint32_t> reference_ids_;    // the same, interned; UINT32_MAX = not yet
  std::vector<uint8_t> event_kinds_;       // by index in plane_->event_names: 0 other, 1 allocation, 2 deallocation
  FlatMap<std::string, uint32_t> unpacked_;
  FlatMap<uint32_t, uint32_t> memory_id_rows_;  // name → row
  uint32_t last_memory_id_ = kNone;
  uint32_t last_memory_id_row_ = 0;
};

}  // namespace memstrata::xla
