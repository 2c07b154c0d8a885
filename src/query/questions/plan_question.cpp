// plan: what a model and a workload would need, as `memstrata plan` computes it, beside what the session measured.
// plan_choices: what can be asked for.

#include <algorithm>
#include <array>

#include "plan/plan.h"
#include "plan/report/plan_report.h"
#include "plan/request_file.h"
#include "query/answer_parts.h"
#include "query/plan_residuals.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr size_t kInputCount = std::size(plan::kWorkloadInputs);
constexpr std::string_view kOwnParameters[] = {"model", "parameters", "draft", "card", "beside", "largest"};
constexpr std::string_view kYesNo[] = {"no", "yes"};

std::string_view InputName(const plan::InputHelp& input) { return input.flag.substr(2); }

constexpr auto kPlanParameters = [] {
  std::array<std::string_view, std::size(kOwnParameters) + kInputCount> names{};
  std::copy(std::begin(kOwnParameters), std::end(kOwnParameters), names.begin());
  for (size_t i = 0; i < kInputCount; ++i)
    names[std::size(kOwnParameters) + i] = plan::kWorkloadInputs[i].flag.substr(2);
  return names;
}();

// What comes over a socket names no files of this machine.
Result<plan::PlanRequest> RequestOf(const Parameters& parameters) {
  plan::RequestTexts texts;
  texts.model = parameters.Text("model");
  texts.parameters = parameters.Text("parameters");
  texts.draft = parameters.Text("draft");
  for (const plan::InputHelp& input : plan::kWorkloadInputs) {
    const std::string_view value = parameters.Text(InputName(input));
    if (!value.empty()) texts.inputs.emplace_back(InputName(input), value);
  }
  MEMSTRATA_ASSIGN_OR_RETURN(plan::PlanRequest request, plan::MakeRequest(texts, plan::FileUse::kNever));
  if (parameters.Has("card")) {
    MEMSTRATA_ASSIGN_OR_RETURN(request.card, plan::FindCard(parameters.Text("card")));
  }
  return request;
}

void WriteMeasured(JsonWriter& json, const plan::Plan& plan, const MeasuredPeak& peak) {
  json.StartObject();
  json.Field("heap", std::string_view(peak.heap));
  json.Field("lower_bound_reason", std::string_view(peak.lower_bound_reason));
  json.Key("terms");
  json.StartArray();
  for (const PlanResidual& residual : FindResiduals(plan, peak)) {
    json.StartObject();
    json.Field("term", std::string_view(residual.term));
    json.Field("planned_bytes", residual.planned_bytes);
    json.Field("measured_bytes", residual.measured_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

Result<Answer> AnswerPlan(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(plan::PlanRequest request, RequestOf(parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t is_beside, parameters.Choice("beside", kYesNo, "no"));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t searches_largest, parameters.Choice("largest", kYesNo, "no"));
  request.searches_largest = searches_largest != 0;
  std::optional<MeasuredPeak> peak;
  std::vector<std::pair<std::string, std::string>> filled;
  if (is_beside != 0) {
    MEMSTRATA_ASSIGN_OR_RETURN(peak, session.Peak());
    filled = FillFromRecording(*peak, request);
  }
  MEMSTRATA_ASSIGN_OR_RETURN(const plan::Plan plan, plan::MakePlan(request));
  return JsonAnswer([&](JsonWriter& json) {
    json.Key("plan");
    plan::WritePlanJson(plan, json);
    json.Key("filled");
    json.StartObject();
    for (const auto& [input, value] : filled) json.Field(input, std::string_view(value));
    json.EndObject();
    json.Key("measured");
    if (peak) {
      WriteMeasured(json, plan, *peak);
    } else {
      json.Null();
    }
  });
}

Result<Answer> AnswerPlanChoices(SessionIndex& session, const Parameters& parameters) {
  (void)session;
  (void)parameters;
  return JsonAnswer([](JsonWriter& json) {
    json.Texts("models", plan::PresetNames());
    json.Key("cards");
    json.StartArray();
    for (const plan::Card& card : plan::BuiltInCards()) {
      json.StartObject();
      json.Field("id", std::string_view(card.id));
      json.Field("name", std::string_view(card.name));
      json.Field("visible_bytes", card.visible_bytes);
      json.EndObject();
    }
    json.EndArray();
    json.Key("inputs");
    json.StartArray();
    const std::vector<std::pair<std::string, std::string>> defaults = plan::EffectiveInputs({});
    for (const plan::InputHelp& input : plan::kWorkloadInputs) {
      const auto found = std::find_if(defaults.begin(), defaults.end(),
                                      [&](const auto& entry) { return entry.first == InputName(input); });
      json.StartObject();
      json.Field("name", InputName(input));
      json.Field("default", found == defaults.end() ? std::string_view() : std::string_view(found->second));
      json.Field("help", input.help);
      json.EndObject();
    }
    json.EndArray();
  });
}

}  // namespace

const QuestionInfo kPlanQuestion = {"plan", kPlanParameters, AnswerPlan};
const QuestionInfo kPlanChoicesQuestion = {"plan_choices", {}, AnswerPlanChoices};

}  // namespace memstrata
