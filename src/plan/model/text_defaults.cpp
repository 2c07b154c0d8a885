#include "plan/model/text_defaults.h"

#include <algorithm>
#include <iterator>

namespace memstrata::plan {
namespace {

struct ClassDefaults {
  std::string_view type;
  std::string_view keys;
};

constexpr ClassDefaults kClassDefaults[] = {
    {"llama",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                  "num_attention_heads": 32})"},
    {"mistral",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                    "num_attention_heads": 32, "num_key_value_heads": 8})"},
    {"gemma",
     R"({"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
                  "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256})"},
    {"gemma3_text",
     R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
                        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256})"},
    {"qwen2",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
                  "num_attention_heads": 32, "num_key_value_heads": 32})"},
};

}  // namespace

std::string_view TextDefaults(std::string_view model_type) {
  const auto* found = std::find_if(std::begin(kClassDefaults), std::end(kClassDefaults),
                                   [&](const ClassDefaults& row) { return row.type == model_type; });
  return found == std::end(kClassDefaults) ? "{}" : found->keys;
}

}  // namespace memstrata::plan
