#pragma once
// The outer shape of an XSpace file (XProf's *.xplane.pb): planes, their name tables and where their lines lie. Field
// numbers: docs/formats/xplane.md. Nothing here knows about memory.
//
// Everything is a view into the caller's bytes. Lines are not loaded: they are most of a file, and each is walked when
// its turn comes (loading_walk.h). A file that was cut off gives what is there and says so.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "io/protowire/message.h"
#include "io/source/scratch_bytes.h"

namespace memstrata::xla {

/// One XStat. `kind` is the field number of its value (0 = none).
struct Stat {
  enum Kind : uint8_t {
    kNone = 0,
    kDouble = 2,
    kUnsigned = 3,
    kSigned = 4,
    kText = 5,
    kBytes = 6,
    kReference = 7,
    kCompressed = 8
  };
  int64_t name_id = 0;
  Kind kind = kNone;
  uint64_t bits = 0;      // of the numeric kinds and of kReference
  std::string_view text;  // of kText, kBytes and kCompressed

  double number() const;
};

/// Reads one XStat of any form; throws protozero::exception on broken encoding (see GuardMessage).
Stat ReadAnyStat(std::string_view bytes);

/// The same, quick for the form that every known writer uses: a one-byte name id, then one number, and nothing after
/// it.
inline Stat ReadStat(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (bytes.size() < 4 || at[0] != '\x08' || at[1] < 0) return ReadAnyStat(bytes);
  Stat stat;
  stat.name_id = at[1];
  const char key = at[2];
  at += 3;
  if (key == '\x11') {
    if (end - at != 8) return ReadAnyStat(bytes);
    std::memcpy(&stat.bits, at, 8);
    stat.kind = Stat::kDouble;
    return stat;
  }
  if (key != '\x18' && key != '\x20' && key != '\x38') return ReadAnyStat(bytes);
  stat.kind = static_cast<Stat::Kind>(key >> 3);
  for (unsigned shift = 0; at != end && shift < 63; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    stat.bits |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return at == end ? stat : ReadAnyStat(bytes);
  }
  return ReadAnyStat(bytes);
}

/// Names by id: ids are small and dense in practice, anything else goes through a map.
class NameTable {
 public:
  void Add(int64_t id, std::string_view name);
  /// The index of the name in names(), or UINT32_MAX.
  uint32_t Find(int64_t id) const {
    if (static_cast<uint64_t>(id) < dense_.size()) return dense_[static_cast<size_t>(id)];
    if (sparse_.empty()) return UINT32_MAX;
    const auto found = sparse_.find(static_cast<uint64_t>(id));
    return found == sparse_.end() ? UINT32_MAX : found->second;
  }
  const std::vector<std::string_view>& names() const { return names_; }
  std::string_view Name(int64_t id) const {
    const uint32_t index = Find(id);
    return index == UINT32_MAX ? std::string_view{} : names_[index];
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<uint32_t> dense_;
  FlatMap<uint64_t, uint32_t> sparse_;
};

struct EventMetadata {
  int64_t id = 0;
  std::string_view name;
  std::vector<Stat> stats;
};

struct Plane {
  std::string_view name;
  std::vector<std::string_view> lines;  // XLine messages, in file order; not loaded
  NameTable event_names;
  NameTable stat_names;
  std::vector<Stat> stats;
  std::vector<EventMetadata> metadata;  // only those that carry statistics
};

struct Line {
  std::string_view name;
  int64_t begin_ns = 0;
};
/// Name and start of a line, without its events.
Line ReadLineHeader(std::string_view line, ScratchBytes& bytes);

struct Space {
  std::vector<Plane> planes;
  std::vector<std::string_view> errors;
  std::vector<std::string_view> warnings;
  std::vector<std::string_view> hostnames;
  bool truncated = false;
  uint64_t damage_count = 0;  // records that could not be read
  uint64_t first_damage_offset = 0;
};

/// kCorruptInput when the bytes are no XSpace at all; damage inside a plane is counted instead.
Result<Space> ReadSpace(ScratchBytes& bytes);

}  // namespace memstrata::xla
