#include "report/json/explain_json.h"

#include "analysis/frames/useful_frame.h"
#include "query/common_json.h"
#include "query/mark_labels.h"
#include "report/json/fragmentation_json.h"

namespace memstrata {
namespace {

std::optional<uint32_t> Row(uint32_t row) { return row == kNone ? std::nullopt : std::optional<uint32_t>(row); }

void WriteStack(JsonWriter& json, const Store& store, std::string_view key, StackId stack) {
  json.Key(key);
  if (stack.value == 0) return json.Null();
  WriteFrames(json, store, FramesOf(store, stack));
}

void WriteSteps(JsonWriter& json, const HeapExplained& heap) {
  json.Key("steps");
  json.StartArray();
  for (uint32_t i = 0; i < heap.steps.size(); ++i) {
    const StepExplained& step = heap.steps[i];
    json.StartObject();
    json.Field("index", i);
    json.Field("begin_seq", step.span.begin_seq);
    json.Field("end_seq", step.span.end_seq);
    json.Field("peak_live_bytes", step.peak_live_bytes);
    json.Field("end_live_bytes", step.end_live_bytes);
    json.Field("complete", step.span.is_complete);
    json.EndObject();
  }
  json.EndArray();
}

void WritePhases(JsonWriter& json, const HeapExplained& heap) {
  const PhaseBasis basis = heap.analysis.timeline.basis;
  json.Key("phases");
  json.StartArray();
  for (const PhaseExplained& phase : heap.phases) {
    json.StartObject();
    json.Field("step", Row(phase.span.step));
    json.Field("name", kPhaseNames[static_cast<size_t>(phase.span.phase)]);
    json.Field("begin_seq", phase.span.begin_seq);
    json.Field("end_seq", phase.span.end_seq);
    json.Field("peak_live_bytes", phase.peak_live_bytes);
    json.Field("delta_bytes", phase.delta_bytes);
    json.Field("confidence", phase.confidence);
    json.Field("basis", kPhaseBasisNames[static_cast<size_t>(basis)]);
    json.EndObject();
  }
  json.EndArray();
}

void WriteBands(JsonWriter& json, const Store& store, const HeapExplained& heap) {
  json.Key("bands");
  json.StartArray();
  for (const Band& band : heap.bands) {
    json.StartObject();
    json.Field("category", kCategoryNames[static_cast<size_t>(band.category)]);
    json.Field("at_peak_bytes", band.at_peak_bytes);
    json.Field("constant_bytes", band.constant_bytes);
    json.Field("label", std::string_view(BandLabel(band)));
    json.Key("evidence");
    json.StartObject();
    json.Field("block_count", band.block_count);
    WriteStack(json, store, "largest_stack", band.largest_stack);
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
}

void WriteMarks(JsonWriter& json, const Store& store, const HeapExplained& heap) {
  json.Key("anatomy");
  if (heap.marks.step == kNone) {
    json.Null();
  } else {
    json.StartObject();
    json.Field("step", heap.marks.step);
    json.Key("marks");
    json.StartArray();
    for (const uint32_t index : heap.marks.anatomy) json.Value(index);
    json.EndArray();
    json.EndObject();
  }
  json.Key("marks");
  json.StartArray();
  for (const Mark& mark : heap.marks.marks) {
    json.StartObject();
    json.Field("kind", kMarkKindNames[static_cast<size_t>(mark.kind)]);
    json.Field("step", Row(mark.step));
    json.Field("begin_seq", mark.begin_seq);
    json.Field("end_seq", mark.end_seq);
    json.Field("bytes", mark.bytes);
    json.Field("count", mark.count);
    json.Field("text", std::string_view(mark.text));
    json.Field("reading", MarkReading(mark.kind));
    const MarkWords words = WordsOf(mark);
    json.Field("name", std::string_view(words.name));
    json.Field("title", std::string_view(words.title));
    json.Field("anchor_seq", AnchorOf(heap, mark));
    WriteStack(json, store, "stack", mark.stack);
    json.EndObject();
  }
  json.EndArray();
}

void WriteLabels(JsonWriter& json, const HeapExplained& heap) {
  json.Key("labels");
  json.StartArray();
  for (const MarkLabel& label : LabelsOf(heap)) {
    json.StartObject();
    json.Field("mark", Row(label.mark));
    json.Key("seqs");
    json.StartArray();
    for (const uint32_t seq : label.seqs) json.Value(seq);
    json.EndArray();
    json.Key("live_bytes");
    json.StartArray();
    for (const uint32_t seq : label.seqs) json.Value(heap.analysis.live.At(Moment::AfterEvent(seq)));
    json.EndArray();
    json.Field("title", std::string_view(label.title));
    json.Field("detail", std::string_view(label.detail));
    json.Field("rank", static_cast<int64_t>(label.rank));
    json.Field("is_alarm", label.is_alarm);
    json.EndObject();
  }
  json.EndArray();
}

void WriteGrowth(JsonWriter& json, const Store& store, const Growth& growth) {
  json.Key("growth");
  json.StartObject();
  json.Field("kind", kGrowthKindNames[static_cast<size_t>(growth.kind)]);
  json.Field("bytes_per_step", growth.bytes_per_step);
  json.Field("begin_step", growth.begin_step);
  WriteStack(json, store, "holder_stack", growth.holder_stack.value_or(StackId{0}));
  if (!growth.ends_in_oom) {
    json.NullField("ends_in_oom");
  } else {
    json.Key("ends_in_oom");
    json.StartObject();
    json.Field("step", growth.ends_in_oom->step);
    json.Field("requested_bytes", growth.ends_in_oom->requested_bytes);
    json.Field("recorded", growth.ends_in_oom->is_recorded);
    json.Field("likely_step", growth.ends_in_oom->likely_step);
    json.Field("outside_bytes", growth.ends_in_oom->outside_bytes);
    json.Field("idle_bytes", growth.ends_in_oom->idle_bytes);
    json.EndObject();
  }
  json.Field("step_count", growth.step_count);
  json.EndObject();
}

void WriteNextPeaks(JsonWriter& json, const Store& store, const HeapExplained& heap) {
  json.Key("next_peak");
  json.StartArray();
  for (const NextPeak& next : heap.next_peaks) {
    json.StartObject();
    json.Field("remove", std::string_view(next.remove));
    json.Field("new_peak_bytes", next.peak.bytes);
    json.Field("new_peak_seq", Row(next.peak.moment.seq()));
    const uint32_t seq = next.peak.moment.seq();
    const Timeline& timeline = heap.analysis.timeline;
    if (seq == kNone) {
      json.NullField("new_peak_phase");
      json.NullField("new_peak_step");
    } else {
      json.Field("new_peak_phase", kPhaseNames[static_cast<size_t>(timeline.phase_of_event[seq])]);
      json.Field("new_peak_step", Row(timeline.step_of_event[seq]));
    }
    json.Field("gain_bytes", next.gain_bytes);
    WriteStack(json, store, "stack", next.stack);
    json.EndObject();
  }
  json.EndArray();
}

void WriteLayers(JsonWriter& json, const Store& store, const HeapExplained& heap) {
  json.Key("layers");
  json.StartArray();
  for (const RepeatedLayer& layer : heap.layers) {
    json.StartObject();
    json.Field("module", std::string_view(layer.loop.place));
    json.Field("count", layer.loop.layer_count);
    json.Field("kept_bytes", layer.kept_bytes);
    json.Field("gradient_bytes", layer.gradient_bytes);
    json.Field("parameter_bytes", layer.parameter_bytes);
    json.Field("optimizer_state_bytes", layer.optimizer_state_bytes);
    WriteStack(json, store, "stack", layer.loop.call);
    json.EndObject();
  }
  json.EndArray();
}

void WriteHeap(JsonWriter& json, const Store& store, const HeapExplained& heap) {
  json.StartObject();
  json.Field("id", std::string_view(heap.analysis.heap->id));
  WriteSteps(json, heap);
  WritePhases(json, heap);
  WriteBands(json, store, heap);
  WriteMarks(json, store, heap);
  WriteLabels(json, heap);
  WriteNextPeaks(json, store, heap);
  WriteGrowth(json, store, heap.analysis.growth);
  WriteFragmentation(json, store, heap.fragmentation);
  WriteLayers(json, store, heap);
  json.EndObject();
}

void WriteFindings(JsonWriter& json, const ExplainAnswer& answer) {
  json.Key("findings");
  json.StartArray();
  for (const HeapExplained& heap : answer.heaps) {
    for (const Finding& finding : heap.findings) {
      json.StartObject();
      json.Field("heap", std::string_view(heap.analysis.heap->id));
      json.Field("id", std::string_view(finding.id));
      json.Field("severity", kFindingSeverityNames[static_cast<size_t>(finding.severity)]);
      json.Field("text", std::string_view(finding.text));
      json.Field("bytes", finding.bytes);
      json.Field("confidence", kConfidenceNames[static_cast<size_t>(finding.confidence)]);
      json.Key("remedy");
      if (finding.remedy.empty()) {
        json.Null();
      } else {
        json.Value(std::string_view(finding.remedy));
      }
      json.Key("evidence");
      json.StartObject();
      json.Field("begin_seq", finding.evidence.begin_seq);
      json.Field("end_seq", finding.evidence.end_seq);
      WriteStack(json, *answer.store, "stack", finding.evidence.stack);
      json.EndObject();
      json.EndObject();
    }
  }
  json.EndArray();
}

}  // namespace

Status WriteExplainJson(const ExplainAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.explain/1");
  WriteSources(json, *answer.store);
  json.Key("heaps");
  json.StartArray();
  for (const HeapExplained& heap : answer.heaps) WriteHeap(json, *answer.store, heap);
  json.EndArray();
  WriteFindings(json, answer);
  WriteMissing(json, *answer.store);
  WriteDiagnostics(json, *answer.store);
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
