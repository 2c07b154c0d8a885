#include "report/json/dryrun_json.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/common_json.h"

namespace memstrata {
namespace {

using dryrun::Count;
using dryrun::DeviceRecord;
using dryrun::DryRun;
using dryrun::DryRunAnswer;
using dryrun::ProcessRecord;
using dryrun::Verdict;

void WriteCounts(JsonWriter& json, std::string_view key, const std::vector<Count>& counts) {
  json.Key(key);
  json.StartArray();
  for (const Count& count : counts) {
    json.StartObject();
    json.Field("name", std::string_view(count.name));
    json.Field("count", count.count);
    json.EndObject();
  }
  json.EndArray();
}

void WriteAttention(JsonWriter& json, const ProcessRecord& process) {
  json.Key("attention");
  json.StartArray();
  for (const dryrun::AttentionUse& use : dryrun::AttentionUses(process)) {
    json.StartObject();
    json.Field("name", std::string_view(use.name));
    json.Field("launch_count", use.launch_count);
    json.EndObject();
  }
  json.EndArray();
}

constexpr std::string_view kBasisNames[] = {"exact", "depends_on_values", "lower_bound", "lower_bound", "lower_bound"};

void WriteFrames(JsonWriter& json, const std::vector<dryrun::CodePlace>& frames) {
  json.Key("frames");
  json.StartArray();
  for (const dryrun::CodePlace& frame : frames) {
    json.StartObject();
    json.Field("file", std::string_view(frame.file));
    json.Field("line", frame.line);
    json.Field("function", std::string_view(frame.function));
    json.EndObject();
  }
  json.EndArray();
}

void WriteOutOfMemory(JsonWriter& json, const DryRunAnswer& answer, const ProcessRecord& process,
                      const DeviceRecord& device) {
  json.Key("oom");
  if (device.ooms.empty()) return json.Null();
  const dryrun::OutOfMemory& oom = TellingError(process, device);
  json.StartObject();
  json.Field("kind", "torch");
  json.Field("requested_bytes", oom.requested_bytes);
  json.Field("free_bytes", oom.free_bytes);
  json.Field("capacity_bytes", answer.request.card.visible_bytes);
  json.Field("reserved_bytes", oom.reserved_bytes);
  json.Field("count", uint64_t{device.ooms.size()});
  json.Field("handled", answer.run.verdict() == Verdict::kRanAfterErrors);
  json.TextOrNull("text", oom.text);
  WriteFrames(json, oom.frames);
  json.EndObject();
}

// The exception that ended the program.
void WriteError(JsonWriter& json, const ProcessRecord& process) {
  json.Key("error");
  if (process.error_type.empty()) return json.Null();
  json.StartObject();
  json.Field("type", std::string_view(process.error_type));
  json.Field("text", std::string_view(process.error_text));
  WriteFrames(json, process.error_frames);
  json.EndObject();
}

void WriteDevice(JsonWriter& json, const DryRunAnswer& answer, const ProcessRecord& process,
                 const DeviceRecord& device) {
  json.StartObject();
  json.Field("index", device.index);
  json.Field("rank", process.rank);
  json.Field("peak_allocated_bytes", device.peak_allocated_bytes);
  json.Field("peak_allocated_basis", kBasisNames[static_cast<size_t>(BasisOf(answer.request, process))]);
  json.Field("peak_reserved_bytes", device.peak_reserved_bytes);
  json.Field("peak_card_bytes", device.card_peak_bytes);
  json.Field("outside_bytes", answer.request.card.context_bytes);
  json.Field("outside_basis", "assumed");
  json.Field("margin_bytes", MarginBytes(answer.request, device));
  json.Field("end_allocated_bytes", device.end_allocated_bytes);
  WriteOutOfMemory(json, answer, process, device);
  json.Field("fits", device.ooms.empty() || answer.run.verdict() != Verdict::kDoesNotFit);
  json.EndObject();
}

void WriteReads(JsonWriter& json, const std::vector<dryrun::ValueRead>& reads) {
  json.Key("value_dependent_reads");
  json.StartArray();
  for (const dryrun::ValueRead& read : reads) {
    json.StartObject();
    json.Field("file", std::string_view(read.file));
    json.Field("line", read.line);
    json.Field("count", read.count);
    json.Field("what", std::string_view(fmt::format("{} B copied to the host in {}", read.size_bytes, read.function)));
    json.EndObject();
  }
  json.EndArray();
}

void WriteSearch(JsonWriter& json, const DryRunAnswer& answer) {
  json.Key("find");
  if (!answer.search) return json.Null();
  const dryrun::Search& search = *answer.search;
  json.StartObject();
  json.Field("name", std::string_view(search.parameter.variable.empty() ? "{}" : search.parameter.variable));
  json.Field("largest", search.largest);
  json.Key("tried");
  json.StartArray();
  for (const dryrun::Trial& trial : search.trials) {
    json.StartObject();
    json.Field("value", trial.value);
    json.Key("fits");
    OtherFailure(trial.run).empty() ? json.Value(trial.run.verdict() == Verdict::kFits) : json.Null();
    json.Field("peak_reserved_bytes", trial.run.PeakReservedBytes());
    json.Field("refused_bytes", trial.run.RefusedBytes());
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteNotes(JsonWriter& json, const DryRunAnswer& answer) {
  json.Key("diagnostics");
  json.StartArray();
  for (const dryrun::Note& note : NotesOf(answer)) {
    json.StartObject();
    json.Field("severity", std::string_view(note.severity));
    json.Field("code", std::string_view(note.code));
    json.Field("count", note.count);
    json.NullField("first_offset");
    json.Field("text", std::string_view(note.text));
    json.EndObject();
  }
  json.EndArray();
}

void WriteMissing(JsonWriter& json, const DryRunAnswer& answer) {
  json.Key("missing");
  json.StartArray();
  if (answer.snapshot_path.empty()) {
    WriteMissingItem(json, "snapshot",
                     "no process wrote one: it never used the card, or it ended without its exit handlers",
                     "let the program end by itself, or use --steps");
  }
  json.EndArray();
}

}  // namespace

std::string DryRunJson(const DryRunAnswer& answer) {
  const DryRun& run = answer.run;
  const ProcessRecord whole = WholeProgram(run);
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.dryrun/1");
  json.Texts("command", ShownCommand(answer.request));
  json.Field("exit_status", run.exit_status);
  json.Field("torch", std::string_view(answer.wheel.torch_version));
  json.Field("cuda", std::string_view(answer.wheel.cuda_version));
  WriteError(json, whole);
  json.Key("card");
  json.StartObject();
  json.Field("name", std::string_view(answer.request.card.name));
  json.Field("capacity_bytes", answer.request.card.visible_bytes);
  json.EndObject();
  json.Key("devices");
  json.StartArray();
  for (const ProcessRecord& process : run.processes) {
    for (const DeviceRecord& device : process.devices) WriteDevice(json, answer, process, device);
  }
  json.EndArray();
  json.Field("steps", whole.step_count);
  WriteReads(json, whole.reads);
  WriteCounts(json, "unanswered_calls", whole.unanswered);
  WriteCounts(json, "kernels", whole.kernels);
  WriteCounts(json, "library_calls", whole.library_calls);
  WriteAttention(json, whole);
  json.TextOrNull("snapshot", answer.snapshot_path);
  WriteSearch(json, answer);
  json.Field("host_peak_bytes", run.host_peak_bytes);
  json.Field("wall_ns", run.wall_ns);
  WriteMissing(json, answer);
  WriteNotes(json, answer);
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
