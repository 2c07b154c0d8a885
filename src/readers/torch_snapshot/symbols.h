#pragma once
// The words of a snapshot: keys, actions, states. Each text is looked up once, when it is interned; after that a word
// is a small number and a record is decoded by a switch. Source of the words: PyTorch's
// torch/csrc/cuda/memory_snapshot.cpp and Module.cpp, observed in real files.

#include <cstdint>
#include <string_view>

namespace memstrata::torch_snapshot {

enum class Symbol : uint8_t {
  kOther,
  // keys of a trace entry
  kAction,
  kAddr,
  kDeviceFree,
  kSize,
  kStream,
  kTimeUs,
  kFrames,
  kCompileContext,
  kUserMetadata,
  kInternalMetadata,
  kPoolId,
  kForwardFrames,
  kCategory,
  // keys of a frame
  kFilename,
  kLine,
  kName,
  kFxNodeOp,
  kFxNodeName,
  kFxNodeTarget,
  kFxOriginalTrace,
  // keys of segments and blocks
  kDevice,
  kAddress,
  kTotalSize,
  kAllocatedSize,
  kActiveSize,
  kRequestedSize,
  kSegmentType,
  kSegmentPoolId,
  kIsExpandable,
  kBlocks,
  kState,
  kHistory,
  kRealSize,
  // keys of an annotation
  kStage,
  // top level
  kSegments,
  kDeviceTraces,
  kAllocatorSettings,
  kExternalAnnotations,
  kHostSegments,
  kHostTraces,
  kTraceAllocOverflowed,
  kTraceAllocMaxEntries,
  kMemstrata,
  // actions
  kAlloc,
  kFree,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOom,
  kSnapshot,
  kAnnotate,
  kUserDefined,
  kWorkspaceSnapshot,
  // states, kinds, stages
  kActiveAllocated,
  kActivePendingFree,
  kActiveAwaitingFree,
  kInactive,
  kSmall,
  kLarge,
  kStart,
  kEnd,
  kNotAvailable,
};

/// kOther for a word that has no meaning here.
Symbol FindSymbol(std::string_view text);

}  // namespace memstrata::torch_snapshot
