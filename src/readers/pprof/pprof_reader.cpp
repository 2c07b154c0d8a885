#include "readers/pprof/pprof_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/protowire/message.h"
#include "model/store/preexisting_block.h"
#include "readers/pprof/profile.h"

namespace memstrata::pprof {
namespace {

constexpr std::string_view kSuffixes[] = {".prof", ".pprof", ".pb.gz"};
constexpr uint64_t kLargestFileBytes = uint64_t{1} << 30;
constexpr int64_t kLargestBytes = int64_t{1} << 60;
// A sample of more blocks than this becomes one row: the table is for people.
constexpr int64_t kMostRows = 10'000;

// The first field is sample_type {1 type, 2 unit}: two small string indices.
Match Probe(const ProbeInput& input) {
  FieldWalk profile(input.head);
  if (!profile.Next() || profile.field() != 1 || !profile.is_message() || profile.payload().size() > 12)
    return Match::kNo;
  FieldWalk type(profile.payload());
  int fields = 0;
  while (type.Next()) {
    if (type.field() == 0 || type.field() > 2 || type.type() != WireType::varint) return Match::kNo;
    ++fields;
  }
  return fields > 0 && !type.damaged() ? Match::kLikely : Match::kNo;
}

std::string_view LabelOf(const Sample& sample, std::string_view key) {
  for (const Label& label : sample.labels) {
    if (label.key == key) return label.text;
  }
  return {};
}

// Which value of a sample is what; kNone without one.
struct Columns {
  size_t count = SIZE_MAX;
  size_t bytes = SIZE_MAX;
};

Columns FindColumns(const Profile& profile) {
  Columns columns;
  for (size_t i = 0; i < profile.value_types.size(); ++i) {
    if (profile.value_types[i].unit == "bytes") columns.bytes = i;
    if (profile.value_types[i].unit == "count") columns.count = i;
  }
  return columns;
}

class Building {
 public:
  Building(const Profile& profile, StoreBuilder& builder)
      : profile_(profile), columns_(FindColumns(profile)), builder_(builder), store_(builder.store()) {}

  Status Run() {
    if (columns_.bytes == SIZE_MAX) {
      return Fail(ErrorCode::kUnsupportedFormat, "This pprof file counts no bytes; it is no memory profile.");
    }
    // Rows of one heap are contiguous: samples by device first, in the order of the file otherwise.
    std::map<std::string, std::vector<const Sample*>> by_device;
    for (const Sample& sample : profile_.samples) {
      const std::string_view device = LabelOf(sample, "device");
      by_device[device.empty() ? std::string(LabelOf(sample, "kind")) : std::string(device)].push_back(&sample);
    }
    for (const auto& [device, samples] : by_device) AddHeap(device, samples);
    builder_.AddMissing(
        "a history", "A device memory profile holds the buffers that are live at one moment, and not their addresses.",
        "Record an XPlane profile (jax.profiler.trace) to see memory over time.");
    return {};
  }

 private:
  void AddHeap(const std::string& device, const std::vector<const Sample*>& samples) {
    Heap heap;
    heap.id = device.empty() ? "unknown" : device;
    heap.allocator = "jax";
    heap.kind = device.starts_with("cpu") || device == "executable" ? HeapKind::kHost : HeapKind::kDevice;
    heap.source = builder_.current_source();
    heap.lower_bound = LowerBoundReason::kNoEvents;
    heap.capabilities.has_stacks = true;
    const auto no_events = static_cast<uint32_t>(store_.events.size());
    heap.events = {no_events, no_events};
    heap.allocations.begin = static_cast<uint32_t>(store_.allocations.size());
    for (const Sample* sample : samples) AddSample(*sample);
    heap.allocations.end = static_cast<uint32_t>(store_.allocations.size());
    store_.heaps.push_back(std::move(heap));
  }

  void AddSample(const Sample& sample) {
    const int64_t bytes = columns_.bytes < sample.values.size() ? sample.values[columns_.bytes] : 0;
    int64_t count = columns_.count < sample.values.size() ? sample.values[columns_.count] : 1;
    if (bytes < 0 || bytes > kLargestBytes || count < 0) {
      builder_.diagnostics().Note(Severity::kDataLoss, "impossible_value",
                                  "Samples with negative or impossible values are left out.");
      return;
    }
    if (count == 0 || count > kMostRows) count = 1;
    const StackId stack = StackOf(sample);
    for (int64_t i = 0; i < count; ++i) {
      const auto share = static_cast<uint64_t>(bytes / count + (i < bytes % count ? 1 : 0));
      AppendBlock(share, stack);
    }
  }

  void AppendBlock(uint64_t size_bytes, StackId stack) {
    AppendPreexisting(store_.allocations,
                      {.size_bytes = size_bytes, .stream = builder_.InternStream(0), .stack = stack});
  }

  StackId StackOf(const Sample& sample) {
    std::vector<FrameId> frames;
    if (LabelOf(sample, "kind") == "executable") {
      const StringId name = store_.strings.Intern("(compiled executable)");
      frames.push_back(store_.stacks.InternFrame(name, StringId{0}, 0, FrameKind::kUnknown));
    }
    for (const uint64_t id : sample.locations) {
      const auto found = profile_.locations.find(id);
      if (found == profile_.locations.end()) continue;
      for (const Line& line : found->second) {
        const auto number = static_cast<uint32_t>(std::clamp<int64_t>(line.line, 0, UINT32_MAX));
        frames.push_back(store_.stacks.InternFrame(store_.strings.Intern(line.function),
                                                   store_.strings.Intern(line.file), number,
                                                   GuessFrameKind(line.file, line.function)));
      }
    }
    return store_.stacks.InternStack(frames);
  }

  const Profile& profile_;
  Columns columns_;
  StoreBuilder& builder_;
  Store& store_;
};

Status Read(Input& input, StoreBuilder& builder, const ReadContext& context) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string bytes,
                             ReadAll(*input.bytes, std::min(kLargestFileBytes, context.limits.memory_bytes)));
  MEMSTRATA_ASSIGN_OR_RETURN(const Profile profile, ReadProfile(bytes));
  return Building(profile, builder).Run();
}

}  // namespace

const ReaderInfo kReader = {
    .id = "pprof",
    .title = "JAX device memory profile (pprof)",
    .suffixes = kSuffixes,
    .probe = Probe,
    .read = Read,
};

}  // namespace memstrata::pprof
