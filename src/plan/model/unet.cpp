// The UNet of Stable Diffusion and SDXL.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/denoiser_builder.h"

namespace memstrata::plan {
namespace {

constexpr int64_t kMostBlocks = 4096;
constexpr int64_t kLargestChannels = int64_t{1} << 15;

void AddConvolution(const std::string& name, int64_t in, int64_t out, int64_t width, ParameterBuilder& build) {
  build.Add(name + ".weight", {out, in, width, width}, Role::kConvolution);
  build.Add(name + ".bias", {out}, Role::kColumnBias);
}

struct UnetShape {
  std::vector<int64_t> channels;
  std::vector<int64_t> depths;  // transformer blocks of a level, 0: none
  int64_t middle_depth = 1;
  int64_t layers = 2;
  int64_t context = 0;
  int64_t step_width = 0;
  int64_t side = 0;  // of the sample, in latent pixels
  bool projects_linearly = false;
};

class UnetBuilder {
 public:
  UnetBuilder(const UnetShape& shape, ParameterBuilder& build, DiffusionSpec& spec)
      : shape_(shape), build_(build), layers_(build), spec_(spec), side_(shape.side) {}

  void Down() {
    channels_ = shape_.channels.front();
    skips_.push_back(channels_);
    for (size_t level = 0; level < shape_.channels.size(); ++level) {
      for (int64_t layer = 0; layer < shape_.layers; ++layer) {
        Block(channels_, level);
        skips_.push_back(channels_);
      }
      if (level + 1 == shape_.channels.size()) continue;
      AddConvolution(Name("downsample"), channels_, channels_, 3, build_);
      side_ = (side_ + 1) / 2;
      skips_.push_back(channels_);
    }
  }

  void Middle() {
    Residual(channels_, channels_);
    Transformer(channels_, shape_.middle_depth);
    Residual(channels_, channels_);
  }

  void Up() {
    for (size_t level = shape_.channels.size(); level-- > 0;) {
      for (int64_t layer = 0; layer <= shape_.layers; ++layer) {
        const int64_t skip = skips_.back();
        skips_.pop_back();
        Block(channels_ + skip, level);
      }
      if (level == 0) continue;
      side_ *= 2;
      AddConvolution(Name("upsample"), channels_, channels_, 3, build_);
    }
  }

 private:
  std::string Name(const char* what) { return fmt::format("{}.{}", what, count_++); }

  void Block(int64_t in, size_t level) {
    channels_ = shape_.channels[level];
    Residual(in, channels_);
    if (shape_.depths[level] > 0) Transformer(channels_, shape_.depths[level]);
  }

  // Two norms, activations and convolutions; inputs of each are kept.
  void Residual(int64_t in, int64_t out) {
    const std::string name = Name("residual");
    build_.Norm(name + ".first_norm", in, true);
    AddConvolution(name + ".first", in, out, 3, build_);
    layers_.Linear(name + ".step", shape_.step_width, out);
    build_.Norm(name + ".second_norm", out, true);
    AddConvolution(name + ".second", out, out, 3, build_);
    if (in != out) AddConvolution(name + ".shortcut", in, out, 1, build_);
    spec_.AddBlock(3 * (in + out) * side_ * side_, in * side_ * side_);
  }

  void Projection(const std::string& name, int64_t width) {
    if (shape_.projects_linearly) {
      layers_.Linear(name, width, width);
    } else {
      AddConvolution(name, width, width, 1, build_);
    }
  }

  // 28 elements a channel and block: three norms and what follows them, queries, keys, values and results of both
  // attentions, and a gated MLP of four times the width.
  void Transformer(int64_t width, int64_t depth) {
    const std::string name = Name("transformer");
    build_.Norm(name + ".norm", width, true);
    Projection(name + ".in", width);
    for (int64_t i = 0; i < depth; ++i) {
      const std::string block = fmt::format("{}.{}", name, i);
      for (const char* norm : {".first_norm", ".second_norm", ".third_norm"}) build_.Norm(block + norm, width, true);
      for (const char* part : {".self.q", ".self.k", ".self.v", ".cross.q"})
        layers_.Linear(block + part, width, width, false);
      for (const char* part : {".cross.k", ".cross.v"}) layers_.Linear(block + part, shape_.context, width, false);
      for (const char* part : {".self.out", ".cross.out"}) layers_.Linear(block + part, width, width);
      layers_.Linear(block + ".gate_up", width, 8 * width);
      layers_.Linear(block + ".down", 4 * width, width);
    }
    Projection(name + ".out", width);
    spec_.AddBlock((3 + 28 * depth) * width * side_ * side_, width * side_ * side_);
  }

  const UnetShape& shape_;
  ParameterBuilder& build_;
  DenoiserBuilder layers_;
  DiffusionSpec& spec_;
  int64_t side_;
  int64_t channels_ = 0;
  int64_t count_ = 0;
  std::vector<int64_t> skips_;
};

// One number for all levels or one for each.
Result<std::vector<int64_t>> PerLevel(const ConfigJson& config, const char* key, size_t levels) {
  std::vector<int64_t> values = config.Integers(key);
  if (values.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(const int64_t same, config.Integer(key, 1));
    values.assign(levels, same);
  }
  if (values.size() != levels) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} values for {} levels.", key, values.size(), levels));
  }
  return values;
}

Result<UnetShape> ReadUnetShape(const ConfigJson& config) {
  UnetShape shape;
  shape.channels = config.Integers("block_out_channels");
  const std::vector<std::string> kinds = config.Texts("down_block_types");
  if (shape.channels.empty() || kinds.size() != shape.channels.size()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("block_out_channels has {} levels, down_block_types {}; a UNet needs as many of both.",
                            shape.channels.size(), kinds.size()));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(shape.depths, PerLevel(config, "transformer_layers_per_block", kinds.size()));
  shape.middle_depth = shape.depths.back();  // also where the last level itself has none
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == "DownBlock2D") shape.depths[i] = 0;
    if (kinds[i] == "CrossAttnDownBlock2D" || kinds[i] == "DownBlock2D") continue;
    return Fail(ErrorCode::kInvalidArgument, fmt::format("The block type \"{}\" of a UNet is not known.", kinds[i]));
  }
  MEMSTRATA_ASSIGN_OR_RETURN(shape.layers, config.Integer("layers_per_block", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(shape.context, config.Integer("cross_attention_dim", 1280));
  MEMSTRATA_ASSIGN_OR_RETURN(shape.side, config.Integer("sample_size", 64));
  constexpr int64_t kLargestSide = 4096;
  for (const int64_t channels : shape.channels) {
    if (channels <= 0 || channels > kLargestChannels || shape.side > kLargestSide)
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("A UNet of {} channels on samples of {}.", channels, shape.side));
  }
  shape.projects_linearly = config.Flag("use_linear_projection", false);
  shape.step_width = 4 * shape.channels.front();
  int64_t most = shape.middle_depth + std::min(shape.layers, kMostBlocks) * static_cast<int64_t>(kinds.size());
  for (const int64_t depth : shape.depths) most += depth * std::min(shape.layers, kMostBlocks);
  if (most > kMostBlocks || shape.layers > kMostBlocks)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("A UNet of {} blocks.", most));
  return shape;
}

}  // namespace

Result<DiffusionSpec> ReadUnet(const ConfigJson& config, ParameterBuilder& build) {
  DiffusionSpec spec;
  MEMSTRATA_ASSIGN_OR_RETURN(const UnetShape shape, ReadUnetShape(config));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t in, config.Integer("in_channels", 4));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t out, config.Integer("out_channels", 4));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t added, config.Integer("projection_class_embeddings_input_dim", 0));
  const int64_t first = shape.channels.front();
  AddConvolution("first", in, first, 3, build);
  DenoiserBuilder layers(build);
  layers.Pair("step", first, shape.step_width, shape.step_width);
  if (added > 0) layers.Pair("added", added, shape.step_width, shape.step_width);
  UnetBuilder blocks(shape, build, spec);
  blocks.Down();
  blocks.Middle();
  blocks.Up();
  build.Norm("last_norm", first, true);
  AddConvolution("last", first, out, 3, build);
  return spec;
}

}  // namespace memstrata::plan
