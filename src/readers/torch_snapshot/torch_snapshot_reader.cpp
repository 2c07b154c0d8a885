#include "readers/torch_snapshot/torch_snapshot_reader.h"

#include <fmt/format.h>

#include "io/json/json_machine.h"
#include "io/pickle/machine.h"
#include "io/pickle/sniff.h"
#include "readers/torch_snapshot/assemble.h"

namespace memstrata::torch_snapshot {
namespace {

constexpr std::string_view kSuffixes[] = {".pickle", ".pkl", ".pt"};

bool LooksLikeJson(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t start = head.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (head[start] == '{' || head[start] == '[');
}

Match Probe(const ProbeInput& probe) {
  const auto mentions = [&](std::string_view word) { return probe.head.find(word) != std::string_view::npos; };
  const bool snapshot_words = mentions("device_traces") || (mentions("segments") && mentions("blocks")) ||
                              (mentions("total_size") && mentions("segment_type"));
  if (pickle::LooksLikePickle(probe.head)) return snapshot_words ? Match::kCertain : Match::kLikely;
  if (LooksLikeJson(probe.head)) return snapshot_words ? Match::kCertain : Match::kMaybe;
  return Match::kNo;
}

// What comes after the document: nothing, the NULs that HTML pages pad with, another pickle, or junk. Looks at the next
// few MiB only: what follows may be endless.
void LookAtRest(pickle::Window& rest, StoreBuilder& builder) {
  constexpr uint64_t kLookedAtBytes = 8 << 20;
  const uint64_t end_offset = rest.offset_bytes() + kLookedAtBytes;
  uint64_t extra = 0;
  uint64_t first_offset = 0;
  bool another_pickle = false;
  while (rest.offset_bytes() < end_offset && rest.Ensure(1)) {
    while (rest.available() > 0) {
      const uint8_t byte = *rest.cursor;
      const bool padding = byte == 0 || byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t';
      if (!padding && extra++ == 0) {
        first_offset = rest.offset_bytes();
        another_pickle = byte == 0x80;
      }
      ++rest.cursor;
    }
  }
  if (extra == 0) return;
  builder.diagnostics().Note(Severity::kWarning, "trailing_bytes",
                             another_pickle
                                 ? "Another pickle follows the first one in this file; only the first is read."
                                 : "Bytes follow the end of the document; they are not read.",
                             first_offset, extra);
}

// Whether an error leaves something worth showing.
bool IsSurvivable(const Error& error) {
  switch (error.code) {
    case ErrorCode::kTruncatedInput:
    case ErrorCode::kCorruptInput:
    case ErrorCode::kLimitExceeded:
    case ErrorCode::kIo:
      return true;
    default:
      return false;
  }
}

Status Finish(StoreBuilder& builder, Decoder& decoder, pickle::Outcome& outcome, pickle::Window& rest) {
  if (outcome.error && !IsSurvivable(*outcome.error)) return tl::unexpected(std::move(*outcome.error));
  Result<SnapshotRoot> root = decoder.Root(outcome.root);
  const bool has_content = decoder.records().events.size() > 0 || !decoder.records().segments.empty();
  if (outcome.error && (!root || !has_content)) return tl::unexpected(std::move(*outcome.error));
  if (!root) return tl::unexpected(std::move(root).error());
  if (outcome.error) {
    builder.store().sources.back().truncated = true;
    builder.diagnostics().Note(Severity::kDataLoss, ErrorCodeName(outcome.error->code),
                               fmt::format("{} What stands before that was read.", outcome.error->message),
                               outcome.error->offset_bytes.value_or(kUnknownBytes));
  } else {
    LookAtRest(rest, builder);
  }
  return Assemble(builder, decoder, *root);
}

Status Read(Input& input, StoreBuilder& builder, const ReadContext& context) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view head, input.bytes->Peek(16));
  const uint64_t expected_bytes = input.wrappers.empty() ? input.file_size_bytes : 0;
  Decoder decoder(builder, context.limits.memory_bytes, expected_bytes);
  const EventCounter::Scope counting(context.event_counter,
                                     [&decoder] { return uint64_t{decoder.records().events.size()}; });
  if (LooksLikeJson(head)) {
    json::Machine<Decoder> machine(*input.bytes, decoder);
    pickle::Outcome outcome = machine.Run();
    return Finish(builder, decoder, outcome, machine.rest());
  }
  pickle::Machine<Decoder> machine(*input.bytes, decoder);
  pickle::Outcome outcome = machine.Run();
  return Finish(builder, decoder, outcome, machine.rest());
}

}  // namespace

const ReaderInfo kReader = {
    .id = "torch_snapshot",
    .title = "PyTorch memory snapshot (pickle or JSON)",
    .suffixes = kSuffixes,
    .probe = Probe,
    .read = Read,
};

}  // namespace memstrata::torch_snapshot
