#include "analysis/memory_profile/profile.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace memstrata {
namespace {

constexpr size_t kMostSnapshots = 1000;

// What rows are sorted and merged by, with the sorting direction of sizes turned.
struct RowKey {
  int64_t size_bytes;
  int64_t requested_bytes;
  std::string_view op;
  std::string_view region;
  std::string_view data_type;
  std::string_view shape;
  uint32_t snapshot;
  uint32_t remainder;

  auto Fields() const { return std::tie(size_bytes, requested_bytes, op, region, data_type, shape); }
  bool operator<(const RowKey& other) const {
    if (size_bytes != other.size_bytes) return size_bytes > other.size_bytes;
    if (requested_bytes != other.requested_bytes) return requested_bytes > other.requested_bytes;
    return std::tie(op, region, data_type, shape) < std::tie(other.op, other.region, other.data_type, other.shape);
  }
};

}  // namespace

double ProfileView::Fragmentation(uint32_t row) const {
  if (as_xprof_ && details_.nan[row] != 0) return std::numeric_limits<double>::quiet_NaN();
  return Seen(row, kBlindFragmentation) ? details_.fragmentation[row] : 0;
}

int64_t ProfileView::Step(uint32_t row) const {
  const int64_t step = as_xprof_ && !details_.xprof_step.empty() ? details_.xprof_step[row] : details_.step[row];
  return step == kNoStep || Seen(row, kBlindStep) ? step : 0;
}

Profile EmptyProfile(const Store& store, uint32_t source) {
  Profile profile;
  for (const XPlaneSource& info : store.xplane.sources) {
    if (info.source == source) profile.has_host_plane = info.has_host_plane;
  }
  return profile;
}

std::vector<ProfileSnapshot> SampleHighest(const std::vector<ProfileSnapshot>& all, const ProfileView& view) {
  if (all.size() <= kMostSnapshots) return all;
  std::vector<ProfileSnapshot> kept;
  kept.reserve(kMostSnapshots);
  const size_t width = all.size() / kMostSnapshots;
  const size_t narrow_count = kMostSnapshots * (width + 1) - all.size();
  size_t begin = 0;
  for (size_t box = 0; box < kMostSnapshots; ++box) {
    const size_t end = begin + width + (box < narrow_count ? 0 : 1);
    size_t best = begin;
    for (size_t i = begin + 1; i < end; ++i) {
      if (view.UsedBytes(all[i].row) > view.UsedBytes(all[best].row)) best = i;
    }
    kept.push_back(all[best]);
    begin = end;
  }
  return kept;
}

void MakeProfileRows(std::vector<ProfileSnapshot> blocks, std::vector<ProfileRemainder> remainders,
                     const ProfileView& view, ProfileAllocator& allocator) {
  std::vector<RowKey> keys;
  keys.reserve(blocks.size() + remainders.size());
  for (uint32_t i = 0; i < remainders.size(); ++i) {
    const ProfileRemainder& rest = remainders[i];
    keys.push_back({rest.bytes, rest.bytes, rest.name, rest.region, "INVALID", "unknown", kNone, i});
  }
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    const uint32_t label = blocks[i].label_row;
    keys.push_back({static_cast<int64_t>(view.SizeBytes(blocks[i].row)),
                    static_cast<int64_t>(view.RequestedBytes(blocks[i].row)), view.Op(label), view.Region(label),
                    view.DataType(label), view.Shape(label), i, kNone});
  }
  std::stable_sort(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size();) {
    size_t end = i + 1;
    while (end < keys.size() && keys[end].Fields() == keys[i].Fields()) ++end;
    ProfileRow row;
    row.count = end - i;
    if (keys[i].remainder != kNone) {
      row.remainder = keys[i].remainder;
    } else {
      row.snapshot = static_cast<uint32_t>(allocator.kept.size());
      allocator.kept.push_back(blocks[keys[i].snapshot]);
    }
    allocator.rows.push_back(row);
    i = end;
  }
  allocator.remainders = std::move(remainders);
}

}  // namespace memstrata
