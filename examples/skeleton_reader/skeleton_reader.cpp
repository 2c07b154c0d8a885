#include "skeleton_reader/skeleton_reader.h"

#include <charconv>
#include <optional>

#include "model/ingest/allocation_tracker.h"

namespace memstrata::skeleton {
namespace {

constexpr std::string_view kMagic = "skeleton 1\n";
constexpr uint64_t kLargestFileBytes = 64ULL << 20;  // a limit for everything: this reader holds the whole text

Match Probe(const ProbeInput& probe) { return probe.head.starts_with(kMagic) ? Match::kCertain : Match::kNo; }

/// The text up to `separator`, which is taken off `rest` too.
std::string_view Take(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void AddEvent(StoreBuilder& builder, EventKind kind, uint64_t addr, uint64_t size_bytes) {
  EventTable& events = builder.store().events;
  events.kind.PushBack(kind);
  events.addr.PushBack(addr);
  events.size_bytes.PushBack(size_bytes);
  events.stream.PushBack(builder.InternStream(0));
  events.stack.PushBack({0});
}

/// False for a line that is no event.
bool ReadLine(std::string_view line, StoreBuilder& builder) {
  const std::string_view action = Take(line, ' ');
  const std::optional<uint64_t> addr = ParseNumber(Take(line, ' '));
  if (!addr) return false;
  if (action == "free") {
    AddEvent(builder, EventKind::kFreeCompleted, *addr, 0);
    return true;
  }
  const std::optional<uint64_t> size_bytes = ParseNumber(line);
  if (action != "alloc" || !size_bytes) return false;
  AddEvent(builder, EventKind::kAlloc, *addr, *size_bytes);
  return true;
}

Status Read(Input& input, StoreBuilder& builder, const ReadContext&) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string text, ReadAll(*input.bytes, kLargestFileBytes));
  Heap heap;
  heap.id = "skeleton:0";
  heap.allocator = "skeleton";
  heap.source = builder.current_source();
  heap.events.begin = static_cast<uint32_t>(builder.store().events.size());
  std::string_view rest = std::string_view(text).substr(kMagic.size());
  while (!rest.empty()) {
    const auto offset = static_cast<uint64_t>(rest.data() - text.data());
    if (!ReadLine(Take(rest, '\n'), builder)) {
      builder.diagnostics().Note(Severity::kDataLoss, "unreadable_line", "A line is no event; it is not read.", offset);
    }
  }
  heap.events.end = static_cast<uint32_t>(builder.store().events.size());
  const BlockRounding rounding;
  AllocationTracker tracker(builder, heap, &rounding);
  MEMSTRATA_ASSIGN_OR_RETURN(const PairingResult pairing, tracker.Run(nullptr));
  heap.capabilities.has_events = heap.events.size() > 0;
  heap.capabilities.complete_history = pairing.preexisting_count == 0;
  builder.store().heaps.push_back(std::move(heap));
  builder.AddMissing("stacks", "This format has no call stacks.", "Record with a tool that has them.");
  return {};
}

}  // namespace

const ReaderInfo kReader = {
    .id = "skeleton",
    .title = "Example format",
    .suffixes = {},
    .probe = Probe,
    .read = Read,
};

}  // namespace memstrata::skeleton
