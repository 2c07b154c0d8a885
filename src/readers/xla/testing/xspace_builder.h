#pragma once
// For tests: writes small XSpace files, field by field.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_writer.hpp>

namespace memstrata::xla::testing {

/// A statistic of an event: its name and how it is stored.
struct StatValue {
  enum Kind { kSigned, kUnsigned, kDouble, kText, kReference, kBytes };
  std::string name;
  Kind kind = kSigned;
  int64_t number = 0;
  double real = 0;
  std::string text;
};

inline StatValue Signed(std::string name, int64_t number) { return {std::move(name), StatValue::kSigned, number}; }
inline StatValue Unsigned(std::string name, uint64_t number) {
  return {std::move(name), StatValue::kUnsigned, static_cast<int64_t>(number)};
}
inline StatValue Real(std::string name, double real) { return {std::move(name), StatValue::kDouble, 0, real}; }
inline StatValue Text(std::string name, std::string text) {
  return {std::move(name), StatValue::kText, 0, 0, std::move(text)};
}
inline StatValue Reference(std::string name, std::string text) {
  return {std::move(name), StatValue::kReference, 0, 0, std::move(text)};
}

inline StatValue Bytes(std::string name, std::string bytes) {
  return {std::move(name), StatValue::kBytes, 0, 0, std::move(bytes)};
}

class PlaneBuilder {
 public:
  explicit PlaneBuilder(std::string name) : name_(std::move(name)) {}

  PlaneBuilder& Line(std::string name, int64_t begin_ns) {
    lines_.push_back({std::move(name), begin_ns, {}});
    return *this;
  }
  PlaneBuilder& Event(const std::string& name, int64_t offset_ps, const std::vector<StatValue>& stats,
                      int64_t duration_ps = 0) {
    std::string bytes;
    protozero::pbf_writer event(bytes);
    event.add_int64(1, IdOf(event_ids_, name));
    event.add_int64(2, offset_ps);
    if (duration_ps != 0) event.add_int64(3, duration_ps);
    for (const StatValue& stat : stats) event.add_message(4, StatBytes(stat));
    lines_.back().events.push_back(std::move(bytes));
    return *this;
  }
  PlaneBuilder& PlaneStat(const StatValue& stat) {
    stats_.push_back(StatBytes(stat));
    return *this;
  }

  std::string Bytes() const {
    std::string bytes;
    protozero::pbf_writer plane(bytes);
    plane.add_int64(1, 1);
    plane.add_string(2, name_);
    for (const LineParts& line : lines_) {
      std::string line_bytes;
      protozero::pbf_writer writer(line_bytes);
      writer.add_string(2, line.name);
      writer.add_int64(3, line.begin_ns);
      for (const std::string& event : line.events) writer.add_message(4, event);
      plane.add_message(3, line_bytes);
    }
    AddNames(plane, 4, event_ids_);
    AddNames(plane, 5, stat_ids_);
    for (const std::string& stat : stats_) plane.add_message(6, stat);
    return bytes;
  }

 private:
  struct LineParts {
    std::string name;
    int64_t begin_ns;
    std::vector<std::string> events;
  };
  using Ids = std::map<std::string, int64_t>;

  static int64_t IdOf(Ids& ids, const std::string& name) {
    return ids.try_emplace(name, static_cast<int64_t>(ids.size()) + 1).first->second;
  }

  std::string StatBytes(const StatValue& stat) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_int64(1, IdOf(stat_ids_, stat.name));
    switch (stat.kind) {
      case StatValue::kSigned:
        writer.add_int64(4, stat.number);
        break;
      case StatValue::kUnsigned:
        writer.add_uint64(3, static_cast<uint64_t>(stat.number));
        break;
      case StatValue::kDouble:
        writer.add_double(2, stat.real);
        break;
      case StatValue::kText:
        writer.add_string(5, stat.text);
        break;
      case StatValue::kReference:
        writer.add_uint64(7, static_cast<uint64_t>(IdOf(stat_ids_, stat.text)));
        break;
      case StatValue::kBytes:
        writer.add_bytes(6, stat.text);
        break;
    }
    return bytes;
  }

  static void AddNames(protozero::pbf_writer& plane, protozero::pbf_tag_type field, const Ids& ids) {
    for (const auto& [name, id] : ids) {
      std::string value;
      protozero::pbf_writer value_writer(value);
      value_writer.add_int64(1, id);
      value_writer.add_string(2, name);
      std::string entry;
      protozero::pbf_writer entry_writer(entry);
      entry_writer.add_int64(1, id);
      entry_writer.add_message(2, value);
      plane.add_message(field, entry);
    }
  }

  std::string name_;
  std::vector<LineParts> lines_;
  Ids event_ids_;
  Ids stat_ids_;
  std::vector<std::string> stats_;
};

inline std::string SpaceBytes(const std::vector<std::string>& planes) {
  std::string bytes;
  protozero::pbf_writer space(bytes);
  for (const std::string& plane : planes) space.add_message(1, plane);
  return bytes;
}

/// The statistics of one memory event of a GPU allocator.
inline std::vector<StatValue> MemoryStats(const std::string& allocator, int64_t heap_bytes, int64_t free_bytes,
                                          int64_t peak_bytes, int64_t size_bytes, int64_t addr,
                                          std::vector<StatValue> more = {}) {
  std::vector<StatValue> stats = {Text("allocator_name", allocator),
                                  Signed("bytes_reserved", 0),
                                  Signed("bytes_allocated", heap_bytes),
                                  Signed("bytes_available", free_bytes),
                                  Signed("fragmentation", 0),
                                  Signed("peak_bytes_in_use", peak_bytes),
                                  Signed("requested_bytes", size_bytes),
                                  Signed("allocation_bytes", size_bytes),
                                  Signed("addr", addr)};
  stats.insert(stats.end(), more.begin(), more.end());
  return stats;
}

}  // namespace memstrata::xla::testing
