#include "readers/torch_snapshot/symbols.h"

#include "base/flat_map.h"

namespace memstrata::torch_snapshot {
namespace {

struct Word {
  std::string_view text;
  Symbol symbol;
};

constexpr Word kWords[] = {
    {"action", Symbol::kAction},
    {"addr", Symbol::kAddr},
    {"device_free", Symbol::kDeviceFree},
    {"size", Symbol::kSize},
    {"stream", Symbol::kStream},
    {"time_us", Symbol::kTimeUs},
    {"frames", Symbol::kFrames},
    {"compile_context", Symbol::kCompileContext},
    {"user_metadata", Symbol::kUserMetadata},
    {"internal_metadata", Symbol::kInternalMetadata},
    {"pool_id", Symbol::kPoolId},
    {"forward_frames", Symbol::kForwardFrames},
    {"category", Symbol::kCategory},
    {"filename", Symbol::kFilename},
    {"line", Symbol::kLine},
    {"name", Symbol::kName},
    {"fx_node_op", Symbol::kFxNodeOp},
    {"fx_node_name", Symbol::kFxNodeName},
    {"fx_node_target", Symbol::kFxNodeTarget},
    {"fx_original_trace", Symbol::kFxOriginalTrace},
    {"device", Symbol::kDevice},
    {"address", Symbol::kAddress},
    {"total_size", Symbol::kTotalSize},
    {"allocated_size", Symbol::kAllocatedSize},
    {"active_size", Symbol::kActiveSize},
    {"requested_size", Symbol::kRequestedSize},
    {"segment_type", Symbol::kSegmentType},
    {"segment_pool_id", Symbol::kSegmentPoolId},
    {"is_expandable", Symbol::kIsExpandable},
    {"blocks", Symbol::kBlocks},
    {"state", Symbol::kState},
    {"history", Symbol::kHistory},
    {"real_size", Symbol::kRealSize},
    {"stage", Symbol::kStage},
    {"segments", Symbol::kSegments},
    {"device_traces", Symbol::kDeviceTraces},
    {"traces", Symbol::kDeviceTraces},
    {"allocator_settings", Symbol::kAllocatorSettings},
    {"external_annotations", Symbol::kExternalAnnotations},
    {"host_segments", Symbol::kHostSegments},
    {"host_traces", Symbol::kHostTraces},
    {"trace_alloc_overflowed", Symbol::kTraceAllocOverflowed},
    {"trace_alloc_max_entries", Symbol::kTraceAllocMaxEntries},
    {"memstrata", Symbol::kMemstrata},
    {"alloc", Symbol::kAlloc},
    {"free", Symbol::kFree},
    {"free_requested", Symbol::kFreeRequested},
    {"free_completed", Symbol::kFreeCompleted},
    {"segment_alloc", Symbol::kSegmentAlloc},
    {"segment_free", Symbol::kSegmentFree},
    {"segment_map", Symbol::kSegmentMap},
    {"segment_unmap", Symbol::kSegmentUnmap},
    {"oom", Symbol::kOom},
    {"snapshot", Symbol::kSnapshot},
    {"annotate", Symbol::kAnnotate},
    {"user_defined", Symbol::kUserDefined},
    {"workspace_snapshot", Symbol::kWorkspaceSnapshot},
    {"active_allocated", Symbol::kActiveAllocated},
    {"active_pending_free", Symbol::kActivePendingFree},
    {"active_awaiting_free", Symbol::kActiveAwaitingFree},
    {"inactive", Symbol::kInactive},
    {"small", Symbol::kSmall},
    {"large", Symbol::kLarge},
    {"START", Symbol::kStart},
    {"END", Symbol::kEnd},
    {"N/A", Symbol::kNotAvailable},
};

}  // namespace

Symbol FindSymbol(std::string_view text) {
  static const FlatMap<std::string_view, Symbol> table = [] {
    FlatMap<std::string_view, Symbol> words;
    for (const Word& word : kWords) words.emplace(word.text, word.symbol);
    return words;
  }();
  const auto found = table.find(text);
  return found == table.end() ? Symbol::kOther : found->second;
}

}  // namespace memstrata::torch_snapshot
