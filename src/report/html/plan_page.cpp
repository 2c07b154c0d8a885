#include "report/html/plan_page.h"

#include <limits>

#include "page/page.h"
#include "plan/report/plan_report.h"
#include "query/question.h"
#include "report/html/embedded_answers.h"

namespace memstrata {
namespace {

// What the sliders move between, and what stays as it was given.
std::string GridJson(const plan::PlanGrid& grid) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Field("task", Name(grid.given.workload.task));
  json.Key("axes");
  json.StartArray();
  for (const plan::GridAxis& axis : grid.axes) {
    json.StartObject();
    json.Field("input", std::string_view(axis.input));
    json.Field("label", std::string_view(axis.label));
    json.Field("given", static_cast<uint64_t>(axis.given));
    json.Texts("values", axis.values);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Finish();
}

// As the question `plan` of the server answers, of a plan that stands beside no recording.
std::string PlanAnswerJson(const plan::Plan& plan) {
  JsonWriter json(JsonWriter::Style::kCompact);
  json.StartObject();
  json.Key("plan");
  plan::WritePlanJson(plan, json);
  json.Key("filled");
  json.StartObject();
  json.EndObject();
  json.NullField("measured");
  json.EndObject();
  return json.Finish();
}

// The values of the axes at a cell; the last axis turns fastest.
Parameters InputsOf(const plan::PlanGrid& grid, size_t cell) {
  Parameters inputs;
  for (size_t i = grid.axes.size(); i-- > 0;) {
    const std::vector<std::string>& values = grid.axes[i].values;
    inputs.Set(grid.axes[i].input, values[cell % values.size()]);
    cell /= values.size();
  }
  return inputs;
}

}  // namespace

Result<std::string> PlanPage(const plan::PlanGrid& grid, std::string_view version) {
  EmbeddedAnswers answers(std::numeric_limits<uint64_t>::max());
  SessionIndex empty(Store{}, std::string(version), {});
  MEMSTRATA_ASSIGN_OR_RETURN(const Answer session, Ask(empty, "session", {}));
  answers.AddJson("session", {}, session.body, Packing::kPlain);
  for (const std::string_view document : {"ledger", "acceptance"})
    answers.AddJson(document, {}, "null", Packing::kPlain);
  answers.AddJson("plan_grid", {}, GridJson(grid), Packing::kPlain);
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const plan::GridCell& cell = grid.cells[i];
    if (cell.plan) {
      answers.AddJson("plan", InputsOf(grid, i), PlanAnswerJson(*cell.plan), Packing::kGzip);
    } else {
      answers.AddProblem("plan", InputsOf(grid, i), cell.problem);
    }
  }
  return SingleFilePage(answers.Finish({}));
}

}  // namespace memstrata
