#include "dryrun/session_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/json_writer.h"
#include "dryrun/text_file.h"

namespace memstrata::dryrun {
namespace {

namespace fs = std::filesystem;

Status IoError(const std::string& path, const std::error_code& problem) {
  return tl::unexpected(Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", problem.message()), path, {}});
}

// rank0.pickle; a second process that calls itself rank 0 gets its process number besides.
fs::path SnapshotPlace(const fs::path& folder, const ProcessRecord& process) {
  const fs::path plain = folder / fmt::format("rank{}.pickle", process.rank);
  std::error_code ignored;
  if (!fs::exists(plain, ignored)) return plain;
  return folder / fmt::format("rank{}-{}.pickle", process.rank, process.process_id);
}

std::string SessionJson(const DryRunAnswer& answer) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.session/1");
  json.Field("complete", true);
  json.Field("rank_count", uint64_t{answer.run.processes.size()});
  json.Key("identity");
  json.StartObject();
  json.Field("made_by", "dryrun");
  json.Field("torch", std::string_view(answer.wheel.torch_version));
  json.Field("cuda", std::string_view(answer.wheel.cuda_version));
  json.Field("card", std::string_view(answer.request.card.name));
  json.Field("capacity_bytes", answer.request.card.visible_bytes);
  json.Texts("command", ShownCommand(answer.request));
  json.EndObject();
  json.EndObject();
  return json.Finish();
}

}  // namespace

Status CheckReplaceable(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored) || fs::is_empty(folder, ignored)) return {};
  if (fs::is_regular_file(fs::path(folder) / "session.json", ignored)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" exists and is not a session; name another place with -o.", folder));
}

Status KeepSnapshots(const std::string& folder, DryRunAnswer& answer) {
  std::error_code problem;
  fs::remove_all(folder, problem);
  if (problem) return IoError(folder, problem);
  const fs::path snapshots = fs::path(folder) / "torch";
  fs::create_directories(snapshots, problem);
  if (problem) return IoError(folder, problem);
  fs::permissions(folder, fs::perms::owner_all, problem);
  if (problem) return IoError(folder, problem);
  answer.session_folder = folder;
  for (const ProcessRecord& process : answer.run.processes) {
    if (process.snapshot_path.empty()) continue;
    const fs::path place = SnapshotPlace(snapshots, process);
    fs::copy_file(process.snapshot_path, place, problem);
    if (problem) return IoError(place.string(), problem);
    if (answer.snapshot_path.empty()) answer.snapshot_path = place.string();
  }
  return {};
}

Status FinishSession(const DryRunAnswer& answer, const std::string& answer_json) {
  const fs::path folder(answer.session_folder);
  MEMSTRATA_TRY(WriteTextFile((folder / "dryrun.json").string(), answer_json));
  return WriteTextFile((folder / "session.json").string(), SessionJson(answer));
}

}  // namespace memstrata::dryrun
