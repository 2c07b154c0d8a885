#include "plan/model/t5_spec.h"

#include <fmt/format.h>

#include "plan/model/parameter_builder.h"

namespace memstrata::plan {
namespace {

void AddAttention(const T5Spec& spec, const std::string& name, bool has_bias_table, ParameterBuilder& build) {
  const int64_t inner = spec.heads * spec.head_dim;
  for (const char* part : {"q", "k", "v"}) {
    build.Linear(fmt::format("{}.{}", name, part), inner, spec.hidden, spec.has_bias, Role::kColumn);
  }
  build.Linear(name + ".o", spec.hidden, inner, spec.has_bias, Role::kRow);
  if (has_bias_table) build.Add(name + ".bias_table.weight", {spec.bucket_count, spec.heads}, Role::kPosition);
  build.Norm(name + ".norm", spec.hidden, spec.has_bias);
}

void AddStack(const T5Spec& spec, const std::string& name, int64_t layers, int64_t first_layer, bool is_decoder,
              ParameterBuilder& build) {
  for (int64_t layer = 0; layer < layers; ++layer) {
    build.set_layer(first_layer + layer);
    build.set_prefix(fmt::format("{}.{}.", name, layer));
    AddAttention(spec, "self", layer == 0 && spec.position_count == 0, build);
    if (is_decoder) AddAttention(spec, "cross", false, build);
    if (spec.is_gated) build.Linear("gate", spec.intermediate, spec.hidden, false, Role::kColumn);
    build.Linear("up", spec.intermediate, spec.hidden, spec.has_bias, Role::kColumn);
    build.Linear("down", spec.hidden, spec.intermediate, spec.has_bias, Role::kRow);
    build.Norm("norm", spec.hidden, spec.has_bias);
  }
  build.set_prefix("");
  build.Norm(name + ".final_norm", spec.hidden, spec.has_bias);
}

}  // namespace

bool IsT5(const std::string& type) { return type == "t5" || type == "mt5" || type == "umt5" || type == "longt5"; }

Result<T5Spec> ReadT5(const ConfigJson& config) {
  T5Spec spec;
  MEMSTRATA_ASSIGN_OR_RETURN(spec.encoder_layers, config.RequiredInteger("num_layers"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.decoder_layers, config.Integer("num_decoder_layers", spec.encoder_layers));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.hidden, config.RequiredInteger("d_model"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.intermediate, config.RequiredInteger("d_ff"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.heads, config.RequiredInteger("num_heads"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.head_dim, config.RequiredInteger("d_kv"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.vocabulary, config.RequiredInteger("vocab_size"));
  MEMSTRATA_ASSIGN_OR_RETURN(spec.bucket_count, config.Integer("relative_attention_num_buckets", 32));
  const std::string projection = config.Text("feed_forward_proj").value_or("relu");
  spec.is_gated = projection.starts_with("gated-");
  const std::string activation = spec.is_gated ? projection.substr(6) : projection;
  spec.activation = spec.is_gated && activation == "gelu" ? ActivationKind::kGeluNew : ActivationOf(activation);
  spec.ties_head = config.Flag("tie_word_embeddings", true);
  spec.dropout = config.Number("dropout_rate").value_or(0.1);
  return spec;
}

std::vector<ParameterSpec> T5Parameters(const T5Spec& spec) {
  ParameterBuilder build;
  build.Add("tokens.weight", {spec.vocabulary, spec.hidden}, Role::kEmbedding);
  if (spec.position_count > 0) build.Add("positions.weight", {spec.position_count, spec.hidden}, Role::kPosition);
  AddStack(spec, "encoder", spec.encoder_layers, 0, false, build);
  AddStack(spec, "decoder", spec.decoder_layers, spec.encoder_layers, true, build);
  build.set_layer(spec.encoder_layers + spec.decoder_layers);
  if (!spec.ties_head) build.Linear("lm_head", spec.vocabulary, spec.hidden, false, Role::kHead);
  return build.Take();
}

}  // namespace memstrata::plan
