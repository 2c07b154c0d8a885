#include "measure/session_json.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/json_writer.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string SessionText(const RunRequest& request, const MeasuredSession& session, bool is_complete) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.session/1");
  json.Field("complete", is_complete);
  json.Key("rank_count");
  if (is_complete) {
    json.Value(uint64_t{session.processes.size()});
  } else {
    json.Null();
  }
  json.Key("identity");
  json.StartObject();
  json.Field("made_by", "run");
  json.Field("host", std::string_view(HostName()));
  json.Field("mode", kCaptureModeNames[static_cast<size_t>(request.mode)]);
  json.Key("frameworks");
  json.StartArray();
  for (const FrameworkProcess& process : session.processes) json.Value(std::string_view(process.framework));
  json.EndArray();
  json.Key("devices");
  json.StartArray();
  for (const DeviceFacts& device : session.devices) json.Value(std::string_view(device.name));
  json.EndArray();
  json.EndObject();
  json.EndObject();
  return json.Finish();
}

}  // namespace

Status WriteSessionJson(const RunRequest& request, const MeasuredSession& session, bool is_complete) {
  const fs::path path = fs::path(request.folder) / "session.json";
  const std::string partial = path.string() + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file << SessionText(request, session, is_complete);
  file.close();
  if (file && chmod(partial.c_str(), 0600) == 0 && rename(partial.c_str(), path.c_str()) == 0) return {};
  return tl::unexpected(Error{ErrorCode::kIo, "It cannot be written.", path.string(), {}});
}

}  // namespace memstrata::measure
