#pragma once
// Parts that diffusion transformers share, and their common keys.

#include <string>

#include "plan/model/diffusion_spec.h"

namespace memstrata::plan {

/// Channels that the step of the noise schedule is spread to before its products.
inline constexpr int64_t kStepChannels = 256;

/// Writes the linear layers of a denoiser: nothing splits them, so all are replicated.
class DenoiserBuilder {
 public:
  explicit DenoiserBuilder(ParameterBuilder& build) : build_(build) {}

  ParameterBuilder& build() { return build_; }
  void Linear(const std::string& name, int64_t in, int64_t out, bool bias = true);
  /// Two products with an activation between them.
  void Pair(const std::string& name, int64_t in, int64_t inner, int64_t out);
  /// A convolution over patches.
  void Patches(const std::string& name, int64_t in, int64_t out, int64_t patch_elements, bool bias = true);
  void Table(const std::string& name, std::vector<int64_t> shape);
  /// Queries of `query_width`, keys and values of `key_width`; the result goes through a product with a bias.
  void Attention(const std::string& name, int64_t query_width, int64_t key_width, bool bias = true);
  /// Norms of queries and keys.
  void QueryKeyNorms(const std::string& name, int64_t width, bool bias = false);

 private:
  ParameterBuilder& build_;
};

/// What most configurations have; a sentence where a size makes no sense.
struct DenoiserShape {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t width = 0;  // heads · head_dim
  int64_t blocks = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t patch = 1;
};
struct UsualShape {  // a class's defaults, where the configuration lacks a key
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t blocks = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;  // 0: as many as come in
  int64_t patch = 1;
};
Result<DenoiserShape> ReadDenoiserShape(const ConfigJson& config, const UsualShape& usual);
/// A width, a side or a count of tokens.
Result<int64_t> ReadDenoiserSize(const ConfigJson& config, std::string_view key, int64_t otherwise);

/// A spec for square pictures of `side` latent pixels.
DiffusionSpec OfPicture(int64_t side, int64_t patch, int64_t text_tokens);
/// A spec for a video of so many latent frames, rows and columns, each after cutting it into patches.
DiffusionSpec OfVideo(int64_t frames, int64_t rows, int64_t columns, int64_t text_tokens, std::string sample);

/// A constant table of `width` channels, in the precision of the parameters.
void AddPositionTable(int64_t positions, int64_t width, DiffusionSpec& spec);

/// Elements a channel that a block keeps for each token of a picture and of the text.
struct KeptChannels {
  double image = 0;
  double text = 0;
};
/// Adds a block of `width` channels; `text_passes`: the text's tokens go through the block too.
void AddTransformerBlock(int64_t width, const KeptChannels& kept, bool text_passes, DiffusionSpec& spec);

}  // namespace memstrata::plan
