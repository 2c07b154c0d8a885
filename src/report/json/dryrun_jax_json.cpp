#include "report/json/dryrun_jax_json.h"

#include "base/json_writer.h"

namespace memstrata {

std::string DryRunJaxJson(const dryrun::JaxAnswer& answer) {
  const dryrun::JaxCompilation& compilation = answer.compilation;
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.dryrun_jax/1");
  json.Field("function", std::string_view(answer.function));
  json.Field("jax", std::string_view(compilation.jax_version));
  json.Field("target", std::string_view(compilation.target));
  json.Field("is_for_cpu", answer.is_for_cpu);
  json.Field("plan", std::string_view(answer.file));
  json.Field("argument_bytes", compilation.argument_bytes);
  json.Field("output_bytes", compilation.output_bytes);
  json.Field("alias_bytes", compilation.alias_bytes);
  json.Field("temp_bytes", compilation.temp_bytes);
  json.Field("total_bytes", compilation.TotalBytes());
  json.Key("card");
  if (answer.card) {
    json.StartObject();
    json.Field("name", std::string_view(answer.card->name));
    json.Field("capacity_bytes", answer.card->visible_bytes);
    json.Field("outside_bytes", answer.card->context_bytes);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Field("margin_bytes", answer.MarginBytes());
  json.Field("fits", answer.Fits());
  json.EndObject();
  return json.Finish();
}

}  // namespace memstrata
