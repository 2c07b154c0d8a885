// Which layers see only a window of earlier tokens: as the configuration lists them, else by the family's rule.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/decoder_family.h"
#include "plan/model/decoder_readers.h"

namespace memstrata::plan {
namespace {

using Kind = WindowRule::Kind;

// null means none, an absent key the class's default.
Result<int64_t> WindowTokens(const WindowRule& rule, const ConfigJson& config) {
  const char* key = rule.kind == Kind::kChunked ? "attention_chunk_size" : "sliding_window";
  if (!config.Mentions(key)) return rule.usual_tokens;
  return config.Integer(key, 0);
}

void SlideWhere(DecoderSpec& spec, const auto& slides) {
  for (int64_t layer = 0; layer < spec.layer_count; ++layer) spec.layer_is_sliding.push_back(slides(layer));
}

Status ReadListed(const std::vector<std::string>& types, int64_t window, DecoderSpec& spec) {
  const auto slides = [](const std::string& type) {
    return type == "sliding_attention" || type == "chunked_attention";
  };
  if (std::none_of(types.begin(), types.end(), slides)) return {};
  if (window == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "\"layer_types\" names layers with a window, and \"sliding_window\" gives it no length.");
  }
  spec.sliding_window = window;
  SlideWhere(spec, [&](int64_t layer) { return slides(types[static_cast<size_t>(layer)]); });
  return {};
}

}  // namespace

Status ReadWindow(const DecoderFamily& family, const ConfigJson& config, DecoderSpec& spec) {
  const WindowRule& rule = family.window;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t window, WindowTokens(rule, config));
  MEMSTRATA_ASSIGN_OR_RETURN(const std::vector<std::string> types, ReadLayerTypes(config, spec.layer_count));
  if (!types.empty()) return ReadListed(types, window, spec);
  switch (rule.kind) {
    case Kind::kNone:
      return {};
    case Kind::kAll:
      spec.sliding_window = config.Flag("use_sliding_window", true) ? window : 0;
      return {};
    case Kind::kFromLayer: {
      const bool is_used = config.Flag("use_sliding_window", rule.usual_tokens > 0);
      MEMSTRATA_ASSIGN_OR_RETURN(const int64_t first, config.Integer("max_window_layers", rule.usual_period));
      spec.sliding_window = is_used ? window : 0;
      SlideWhere(spec, [first](int64_t layer) { return layer >= first; });
      return {};
    }
    case Kind::kPeriod:
    case Kind::kChunked: {
      const char* key = rule.kind == Kind::kChunked ? "no_rope_layer_interval" : "sliding_window_pattern";
      // EXAONE 4 may write the period as a word: a letter for each layer, the last one global.
      const std::string word = config.Text(key).value_or("");
      int64_t period = static_cast<int64_t>(word.size());
      if (word.empty()) {
        MEMSTRATA_ASSIGN_OR_RETURN(period, config.Integer(key, rule.usual_period));
      }
      const std::vector<int64_t> turned = config.Integers("no_rope_layers");
      const bool is_listed = rule.kind == Kind::kChunked && static_cast<int64_t>(turned.size()) == spec.layer_count;
      spec.sliding_window = period > 0 || is_listed ? window : 0;
      SlideWhere(spec, [&](int64_t layer) {
        return is_listed ? turned[static_cast<size_t>(layer)] != 0 : period > 0 && (layer + 1) % period != 0;
      });
      return {};
    }
  }
  return {};
}

}  // namespace memstrata::plan
