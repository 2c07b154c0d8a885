#include <fmt/format.h>

#include "plan/report/plan_report.h"

namespace memstrata::data {
extern const std::string_view kPlanPage;
}

namespace memstrata::plan {
namespace {

constexpr std::string_view kDataMark = "@PLAN_GRID@";
constexpr std::string_view kTextMark = "@PLAN_TEXT@";

void WriteDevices(const std::vector<DevicePlan>& devices, JsonWriter& json) {
  json.Key("devices");
  json.StartArray();
  for (const DevicePlan& device : devices) {
    json.StartObject();
    json.Field("stage", device.stage);
    json.Field("total_bytes", device.total_bytes);
    json.Field("low_bytes", device.low_bytes);
    json.Field("high_bytes", device.high_bytes);
    json.Key("lines");
    json.StartArray();
    for (const Line& line : device.lines) {
      json.StartObject();
      json.Field("term", std::string_view(line.term));
      json.Field("bytes", line.bytes);
      json.Field("persistent", line.is_persistent);
      json.Field("basis", Name(line.basis));
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void WriteAxis(const GridAxis& axis, JsonWriter& json) {
  json.StartObject();
  json.Field("input", std::string_view(axis.input));
  json.Field("label", std::string_view(axis.label));
  json.Field("given", static_cast<uint64_t>(axis.given));
  json.Texts("values", axis.values);
  json.EndObject();
}

std::string GridJson(const PlanGrid& grid) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Field("schema", "memstrata.plan_grid/1");
  json.Field("model", std::string_view(grid.given.model.name));
  json.Field("parameter_count", grid.given.model.parameter_count);
  json.Field("task", Name(grid.given.workload.task));
  json.Key("card");
  if (grid.given.target) {
    json.StartObject();
    json.Field("name", std::string_view(grid.given.target->card.name));
    json.Field("usable_bytes", grid.given.target->usable_bytes);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("axes");
  json.StartArray();
  for (const GridAxis& axis : grid.axes) WriteAxis(axis, json);
  json.EndArray();
  json.Key("cells");
  json.StartArray();
  for (const GridCell& cell : grid.cells) {
    json.StartObject();
    WriteDevices(cell.devices, json);
    json.Field("fits", cell.fits);
    json.Field("verdict", std::string_view(cell.verdict));
    json.Field("problem", std::string_view(cell.problem));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Finish();
}

// Neither in text nor in a script can "<" begin a tag then.
std::string WithoutTags(std::string_view text, std::string_view replacement) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += replacement;
    } else if (c == '&' && replacement.starts_with('&')) {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string PlanHtml(const PlanGrid& grid) {
  std::string page(data::kPlanPage);
  // The text first: it may hold the other mark, which is then already past.
  const size_t text_at = page.find(kTextMark);
  page.replace(text_at, kTextMark.size(), WithoutTags(PlanText(grid.given), "&lt;"));
  const size_t data_at = page.rfind(kDataMark);
  page.replace(data_at, kDataMark.size(), WithoutTags(GridJson(grid), "\\u003c"));
  return page;
}

}  // namespace memstrata::plan
