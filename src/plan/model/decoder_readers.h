#pragma once
// Parts of a decoder's configuration, each read in its own file.

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model/config_json.h"
#include "plan/model/decoder_spec.h"

namespace memstrata::plan {

/// Routed experts; none when the configuration has no such keys.
Status ReadExperts(const ConfigJson& config, DecoderSpec& spec);
/// DBRX keeps the keys of attention and experts in objects of their own.
Status ReadDbrx(const ConfigJson& config, DecoderSpec& spec);
/// Latent attention (DeepSeek); none when the configuration has no such keys.
Status ReadLatentAttention(const ConfigJson& config, DecoderSpec& spec);
/// What mixes tokens in each layer of a hybrid; nothing is changed for other families.
Status ReadMixers(const ConfigJson& config, DecoderSpec& spec);
/// Decoders without attention: layers of one block each (Mamba).
Result<DecoderSpec> ReadMambaDecoder(const ConfigJson& config, const std::string& model_type);
/// The kinds of layers that the configuration lists, one for each; empty when it lists none. kInvalidArgument when
/// the list has another length than the model.
Result<std::vector<std::string>> ReadLayerTypes(const ConfigJson& config, int64_t layer_count);

}  // namespace memstrata::plan
