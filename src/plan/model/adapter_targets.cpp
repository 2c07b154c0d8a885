#include "plan/model/adapter_targets.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

struct Alias {
  std::string_view model_types;  // with a space before and behind each
  std::string_view name;
  std::vector<std::string> targets;
};

constexpr std::string_view kBerts = " bert roberta xlm-roberta camembert electra ernie vit deit dinov2 albert ";
constexpr std::string_view kT5s = " t5 mt5 umt5 longt5 ";

// Module names of transformers 4.57.
const std::vector<Alias>& Aliases() {
  static const std::vector<Alias> kAliases = {
      {" gpt2 gpt_bigcode ", "c_attn", {"qkv_proj"}},
      {" gpt2 gpt_bigcode ", "c_proj", {"o_proj", "down_proj"}},
      {" gpt2 gpt_bigcode starcoder2 ", "c_fc", {"up_proj"}},
      {" starcoder2 ", "c_proj", {"down_proj"}},
      {" gpt_neox bloom falcon chatglm ", "query_key_value", {"qkv_proj"}},
      {" gpt_neox bloom falcon chatglm phi albert dinov2 ", "dense", {"o_proj"}},
      {" gpt_neox bloom falcon ", "dense_h_to_4h", {"up_proj"}},
      {" chatglm ", "dense_h_to_4h", {"gate_up_proj"}},
      {" gpt_neox bloom falcon chatglm ", "dense_4h_to_h", {"down_proj"}},
      {" opt clip siglip gpt_neo gptj codegen mpt ", "out_proj", {"o_proj"}},
      {" mpt modernbert ", "Wqkv", {"qkv_proj"}},
      {" modernbert ", "Wi", {"gate_up_proj"}},
      {" modernbert ", "Wo", {"o_proj", "down_proj"}},
      {" internlm2 ", "wqkv", {"qkv_proj"}},
      {" internlm2 ", "wo", {"o_proj"}},
      {" internlm2 ", "w1", {"gate_proj"}},
      {" internlm2 ", "w2", {"down_proj"}},
      {" internlm2 ", "w3", {"up_proj"}},
      {" baichuan ", "W_pack", {"qkv_proj"}},
      {" qwen ", "c_attn", {"qkv_proj"}},
      {" qwen ", "c_proj", {"o_proj", "down_proj"}},
      {" gptj codegen ", "fc_in", {"up_proj"}},
      {" gptj codegen ", "fc_out", {"down_proj"}},
      {" gpt_neo ", "c_fc", {"up_proj"}},
      {" gpt_neo ", "c_proj", {"down_proj"}},
      {" opt phi clip siglip dinov2 ", "fc1", {"up_proj"}},
      {" opt phi clip siglip dinov2 ", "fc2", {"down_proj"}},
      {kBerts, "query", {"q_proj"}},
      {kBerts, "key", {"k_proj"}},
      {kBerts, "value", {"v_proj"}},
      {" bert roberta xlm-roberta camembert electra ernie vit deit dinov2 ",
       "dense",
       {"o_proj", "up_proj", "down_proj"}},
      {" albert ", "ffn", {"up_proj"}},
      {" albert ", "ffn_output", {"down_proj"}},
      {" deberta-v2 ", "query_proj", {"q_proj"}},
      {" deberta-v2 ", "key_proj", {"k_proj"}},
      {" deberta-v2 ", "value_proj", {"v_proj"}},
      {" deberta-v2 ", "dense", {"o_proj", "up_proj", "down_proj"}},
      {" distilbert ", "q_lin", {"q_proj"}},
      {" distilbert ", "k_lin", {"k_proj"}},
      {" distilbert ", "v_lin", {"v_proj"}},
      {" distilbert ", "out_lin", {"o_proj"}},
      {" distilbert ", "lin1", {"up_proj"}},
      {" distilbert ", "lin2", {"down_proj"}},
      {kT5s, "wi", {"up"}},
      {kT5s, "wi_0", {"gate"}},
      {kT5s, "wi_1", {"up"}},
      {kT5s, "wo", {"down"}},
      {" deepseek_v2 deepseek_v3 kimi_k2 ", "kv_a_proj_with_mqa", {"kv_a_proj"}},
      {" mamba falcon_mamba jamba ", "dt_proj", {"step_proj"}},
  };
  return kAliases;
}

std::string LastPart(const ParameterSpec& parameter) {
  std::string_view name = parameter.name;
  if (name.ends_with(".weight")) name.remove_suffix(std::string_view(".weight").size());
  const size_t dot = name.find_last_of('.');
  return std::string(dot == std::string_view::npos ? name : name.substr(dot + 1));
}

}  // namespace

bool IsAdapterTarget(const ParameterSpec& parameter, const std::vector<std::string>& targets) {
  if (!IsLinearMatrix(parameter) || !parameter.name.ends_with(".weight")) return false;
  const std::string path = "." + parameter.name;
  return targets.empty() || std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
           return path.ends_with("." + target + ".weight");
         });
}

std::vector<std::string> AdapterTargets(std::string_view model_type, const std::vector<std::string>& names) {
  std::vector<std::string> targets;
  const std::string word = " " + std::string(model_type) + " ";
  for (const std::string& name : names) {
    const auto found = std::find_if(Aliases().begin(), Aliases().end(), [&](const Alias& alias) {
      return alias.name == name && alias.model_types.find(word) != std::string_view::npos;
    });
    if (found == Aliases().end()) {
      targets.push_back(name);
    } else {
      targets.insert(targets.end(), found->targets.begin(), found->targets.end());
    }
  }
  return targets;
}

std::vector<std::string> AdaptableNames(const std::vector<ParameterSpec>& parameters) {
  std::vector<std::string> names;
  for (const ParameterSpec& parameter : parameters) {
    if (!IsLinearMatrix(parameter)) continue;
    std::string name = LastPart(parameter);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace memstrata::plan
