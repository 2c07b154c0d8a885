// The top level of a snapshot: which lists are the traces, which the final state, what the settings say.

#include <fmt/format.h>

#include "io/pickle/text_forms.h"
#include "readers/torch_snapshot/decoder.h"

namespace memstrata::torch_snapshot {

const std::vector<Value>* Decoder::PairsOf(Value dict) const {
  if (!dict.is(Kind::kDict) || NodeOf(dict).tag() != NodeTag::kPairs) return nullptr;
  return &pair_lists_[NodeOf(dict).payload()];
}

std::span<const Value> Decoder::ItemsOf(Value list) const {
  if ((!list.is(Kind::kList) && !list.is(Kind::kTuple)) || NodeOf(list).tag() != NodeTag::kItems) return {};
  return item_lists_[NodeOf(list).payload()];
}

uint32_t Decoder::RecordListOf(Value list, RecordKind kind, std::string_view where) {
  const bool is_list = list.is(Kind::kList) || list.is(Kind::kTuple);
  if (is_list && NodeOf(list).tag() == NodeTag::kRecords && records_.lists[NodeOf(list).payload()].kind == kind)
    return NodeOf(list).payload();
  const bool empty = list.is(Kind::kNone) || (is_list && NodeOf(list).tag() == NodeTag::kEmpty);
  if (!empty) {
    builder_.diagnostics().Note(Severity::kDataLoss, "unexpected_value",
                                fmt::format("\"{}\" is not the list that it should be; it is not read.", where));
  }
  return kNone;
}

std::vector<uint32_t> Decoder::TracesOf(Value list) {
  constexpr size_t kMostDevices = 4096;
  std::vector<uint32_t> traces;
  // One device alone may have been dumped without the outer list.
  if (list.is(Kind::kList) && NodeOf(list).tag() == NodeTag::kRecords)
    return {RecordListOf(list, RecordKind::kEvent, "device_traces")};
  for (const Value& device : ItemsOf(list)) {
    if (traces.size() == kMostDevices) {
      builder_.diagnostics().Note(Severity::kDataLoss, "too_many_devices",
                                  "Traces of more than 4,096 devices; the rest is not read.");
      break;
    }
    traces.push_back(RecordListOf(device, RecordKind::kEvent, "device_traces"));
  }
  return traces;
}

void Decoder::ReadOverflow(Symbol key, Value value, SnapshotRoot& root) {
  const Value* begin = &value;
  std::span<const Value> items{begin, 1};
  if (value.is(Kind::kList) || value.is(Kind::kTuple)) items = ItemsOf(value);
  for (const Value& item : items) {
    uint64_t number = 0;
    if (!ToUnsigned(item, &number)) continue;
    if (key == Symbol::kTraceAllocOverflowed) {
      root.overflowed.push_back(number != 0);
    } else {
      root.max_entries.push_back(number);
    }
  }
}

void Decoder::ReadSettings(Value settings, SnapshotRoot& root) {
  const std::vector<Value>* pairs = PairsOf(settings);
  if (pairs == nullptr) return;
  for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
    const Symbol key = SymbolOf((*pairs)[i]);
    if (key == Symbol::kTraceAllocOverflowed || key == Symbol::kTraceAllocMaxEntries)
      ReadOverflow(key, (*pairs)[i + 1], root);
    root.settings.emplace_back(Printable((*pairs)[i]), Printable((*pairs)[i + 1]));
  }
}

Error Decoder::NotASnapshot(Value root) const {
  std::string what = "a single value";
  if (const std::vector<Value>* pairs = PairsOf(root)) {
    what = "a dict with the keys ";
    for (size_t i = 0; i + 1 < pairs->size() && i < 10; i += 2) {
      what += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", pickle::ReplaceControl(Printable((*pairs)[i])));
    }
    if (pairs->size() > 10) what += ", …";
  } else if (root.is(Kind::kDict)) {
    what = "an empty dict";
  } else if (root.is(Kind::kList) || root.is(Kind::kTuple)) {
    what = "a list of something else";
  }
  return Error{ErrorCode::kUnsupportedFormat,
               fmt::format("The file is readable, but it is not a memory snapshot: it holds {}. A snapshot is what "
                           "torch.cuda.memory._dump_snapshot writes, a dict with \"segments\" and \"device_traces\".",
                           what)};
}

Result<SnapshotRoot> Decoder::Root(Value value) {
  SnapshotRoot root;
  Settle(value);
  if (value.is(Kind::kList)) {
    // 1.12 and 1.13, MemPool.snapshot(), torch.cuda.memory_snapshot(): the segments alone.
    const Node node = NodeOf(value);
    const bool segments =
        node.tag() == NodeTag::kRecords && records_.lists[node.payload()].kind == RecordKind::kSegment;
    if (!segments && node.tag() != NodeTag::kEmpty) return tl::unexpected(NotASnapshot(value));
    root.is_list = true;
    root.segments = segments ? node.payload() : kNone;
    return root;
  }
  const std::vector<Value>* pairs = PairsOf(value);
  if (pairs == nullptr) return tl::unexpected(NotASnapshot(value));
  bool is_snapshot = false;
  for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
    const Value item = (*pairs)[i + 1];
    const Symbol key = SymbolOf((*pairs)[i]);
    switch (key) {
      case Symbol::kSegments:
        root.segments = RecordListOf(item, RecordKind::kSegment, "segments"), is_snapshot = true;
        break;
      case Symbol::kDeviceTraces:
        root.device_traces = TracesOf(item), root.has_device_traces = true, is_snapshot = true;
        break;
      case Symbol::kHostSegments:
        root.host_segments = RecordListOf(item, RecordKind::kSegment, "host_segments");
        break;
      case Symbol::kHostTraces:
        root.host_traces = TracesOf(item);
        break;
      case Symbol::kExternalAnnotations:
        root.annotations = RecordListOf(item, RecordKind::kAnnotation, "external_annotations");
        break;
      case Symbol::kAllocatorSettings:
        ReadSettings(item, root);
        break;
      case Symbol::kTraceAllocOverflowed:
      case Symbol::kTraceAllocMaxEntries:
        ReadOverflow(key, item, root);
        break;
      case Symbol::kMemstrata:
        ReadCapture(item, root);
        break;
      default:
        builder_.diagnostics().Note(
            Severity::kInfo, "unknown_top_level_key",
            fmt::format("The snapshot has a part that this version does not know (first: \"{}\"); it is not read.",
                        pickle::ReplaceControl(Printable((*pairs)[i]))));
        break;
    }
  }
  if (!is_snapshot) return tl::unexpected(NotASnapshot(value));
  return root;
}

}  // namespace memstrata::torch_snapshot
