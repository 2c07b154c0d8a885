// Everything that the planner reads: the first byte chooses configuration, safetensors header, GGUF header, TOML, YAML
// or the explicit form. A configuration that is accepted is planned.

#include <cstdlib>
#include <string>

#include "plan/model/weights_file.h"
#include "plan/plan.h"
#include "plan/request_file.h"
#include "plan/yaml_table.h"

namespace {

using memstrata::ErrorCode;

template <class T>
void CheckNotInternal(const memstrata::Result<T>& result) {
  if (!result && result.error().code == ErrorCode::kInternal) std::abort();
}

// A small model is cheap to plan; a large one is not planned here.
void PlanSmall(const memstrata::Result<memstrata::plan::ModelDescription>& model) {
  CheckNotInternal(model);
  if (!model || model->layer_count > 8 || model->parameter_count > (int64_t{1} << 32)) return;
  memstrata::plan::PlanRequest request;
  request.model = *model;
  request.workload.sequence = 16;
  request.searches_largest = false;
  const memstrata::Result<memstrata::plan::Plan> plan = memstrata::plan::MakePlan(request);
  CheckNotInternal(plan);
  if (!plan) return;
  for (const memstrata::plan::DevicePlan& device : plan->devices) {
    uint64_t sum = 0;
    for (const memstrata::plan::Line& line : device.lines) sum += line.bytes;
    if (sum != device.total_bytes) std::abort();
  }
}

void PlanGguf(std::string_view text) {
  const memstrata::Result<memstrata::plan::WeightsHeader> header = memstrata::plan::ParseGguf(text, text.size());
  CheckNotInternal(header);
  if (!header) return;
  memstrata::plan::ModelDescription model;
  model.parameter_count = header->parameter_count;
  model.stored_weight_bytes = header->total_bytes;
  for (const memstrata::plan::StoredTensor& tensor : header->tensors)
    model.parameters.push_back(memstrata::plan::ParameterOf(tensor));
  if (memstrata::plan::UseGgufMetadata(header->metadata, model)) PlanSmall(model);
}

// A request that is accepted is planned, without files.
void PlanYaml(std::string_view text) {
  const memstrata::Result<memstrata::plan::TomlTable> table = memstrata::plan::ParseYaml(text);
  CheckNotInternal(table);
  if (!table) return;
  const memstrata::Result<memstrata::plan::RequestTexts> texts = memstrata::plan::ParseRequest(*table);
  CheckNotInternal(texts);
  if (!texts) return;
  CheckNotInternal(memstrata::plan::MakeRequest(*texts, memstrata::plan::FileUse::kNever));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      PlanSmall(memstrata::plan::DescribeConfig(text, "fuzz"));
      break;
    case 1:
      CheckNotInternal(memstrata::plan::ParseSafetensors(text, text.size()));
      break;
    case 2:
      PlanGguf(text);
      break;
    case 3:
      CheckNotInternal(memstrata::plan::ParseToml(text));
      break;
    case 5:
      PlanYaml(text);
      break;
    case 4:
      PlanSmall(memstrata::plan::DescribeExplicit(text));
      break;
  }
  return 0;
}
