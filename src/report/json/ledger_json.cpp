#include "report/json/ledger_json.h"

#include "base/json_writer.h"
#include "report/json/run_json.h"

namespace memstrata {
namespace {

using ledger::Balance;
using ledger::Line;

// The fields of the object that is open.
void WriteBalance(JsonWriter& json, const Balance& balance) {
  json.Field("time_ns", balance.time_ns);
  json.Field("used_bytes", balance.used_bytes);
  json.Key("lines");
  json.StartArray();
  for (const Line& line : balance.lines) {
    json.StartObject();
    json.Field("term", ledger::kTermNames[static_cast<size_t>(line.term)]);
    json.TextOrNull("process", line.process);
    json.TextOrNull("category", line.category);
    json.Field("bytes", line.bytes);
    json.TextOrNull("note", line.note);
    json.EndObject();
  }
  json.EndArray();
  json.Field("unexplained_bytes", balance.unexplained_bytes);
  json.Field("approximate", balance.is_approximate);
}

void WriteDevice(JsonWriter& json, const measure::DeviceFacts& facts, const ledger::DeviceLedger& device) {
  json.StartObject();
  json.Field("index", device.device);
  json.Field("vendor", std::string_view(facts.vendor));
  json.TextOrNull("name", facts.name);
  json.Field("total_bytes", facts.total_bytes);
  WriteBalance(json, device.balance);
  json.Key("curve");
  json.StartArray();
  for (const ledger::CurvePoint& point : device.curve) {
    json.StartObject();
    json.Field("time_ns", point.time_ns);
    json.Field("used_bytes", point.used_bytes);
    json.Field("framework_bytes", point.framework_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string LedgerJson(const measure::MeasuredSession& session, const ledger::Ledger& answer) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.ledger/1");
  json.Field("at", std::string_view(answer.at));
  json.Key("devices");
  json.StartArray();
  for (const ledger::DeviceLedger& device : answer.devices) WriteDevice(json, session.devices[device.device], device);
  json.EndArray();
  json.Key("host");
  if (answer.host) {
    json.StartObject();
    json.Field("total_bytes", session.machine_bytes);
    WriteBalance(json, *answer.host);
    WriteHostDetail(json, session, answer.host_detail);
    json.EndObject();
  } else {
    json.Null();
  }
  WriteGaps(json, answer.gaps);
  json.EmptyArray("diagnostics");
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
