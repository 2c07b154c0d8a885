#include "readers/xla/hlo_reader.h"

#include "readers/xla/hlo_proto.h"

namespace memstrata::xla {
namespace {

constexpr std::string_view kSuffixes[] = {".hlo_proto.pb", ".hlo.pb"};
constexpr uint64_t kLargestFileBytes = uint64_t{2} << 30;  // protobuf's own limit

Match Probe(const ProbeInput& input) {
  if (LooksLikeHloProto(input.head)) return Match::kCertain;
  return input.file.ends_with(kSuffixes[0]) || input.file.ends_with(kSuffixes[1]) ? Match::kMaybe : Match::kNo;
}

Status Read(Input& input, StoreBuilder& builder, const ReadContext& context) {
  MEMSTRATA_ASSIGN_OR_RETURN(const std::string bytes,
                             ReadAll(*input.bytes, std::min(kLargestFileBytes, context.limits.memory_bytes)));
  MEMSTRATA_ASSIGN_OR_RETURN(Program program, ReadHloProto(bytes, builder.store().strings));
  program.source = builder.current_source();
  if (!program.problem.empty()) builder.diagnostics().Note(Severity::kWarning, "inconsistent_plan", program.problem);
  builder.store().programs.push_back(std::move(program));
  return {};
}

}  // namespace

const ReaderInfo kHloReader = {
    .id = "xla_buffers",
    .title = "Compiled XLA program with its buffer assignment (HloProto)",
    .suffixes = kSuffixes,
    .probe = Probe,
    .read = Read,
};

}  // namespace memstrata::xla
