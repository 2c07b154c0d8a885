// Diffusion transformers over the tokens of a picture or a video; text, where there is any, is attended to beside them.

#include <fmt/format.h>

#include "plan/model/denoiser_builder.h"

namespace memstrata::plan {
namespace {

// What a block of diffusers 0.35 keeps, in elements a channel and token, in bf16. A token of the text leaves its key
// and value, and their norms' inputs where they are normed.
constexpr KeptChannels kDit{20.1, 0};
constexpr KeptChannels kPixArt{23.1, 2};
constexpr KeptChannels kHunyuanDit{32, 4};
constexpr KeptChannels kWan{46, 4};
constexpr KeptChannels kLtxVideo{39.1, 4};

constexpr int64_t kModulations = 6;  // shift, scale and gate, of attention and of the MLP

Result<DenoiserShape> ReadDitShape(const ConfigJson& config) {
  return ReadDenoiserShape(config, {16, 72, 28, 4, 0, 2});
}

// Modulated by a table of its own; attends to itself and to the text.
void AddCrossBlock(const std::string& name, int64_t width, int64_t context, bool bias, bool has_norms,
                   DenoiserBuilder& build) {
  build.Table(name + ".scale_shift", {kModulations, width});
  build.Attention(name + ".self", width, width, bias);
  build.Attention(name + ".cross", width, context, bias);
  if (has_norms) {
    for (const char* part : {".self", ".cross"}) build.QueryKeyNorms(name + part, width);
  }
  build.Pair(name + ".mlp", width, 4 * width, width);
}

}  // namespace

Result<DiffusionSpec> ReadDit(const ConfigJson& config, ParameterBuilder& parameters) {
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDitShape(config));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t classes, ReadDenoiserSize(config, "num_embeds_ada_norm", 1000));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t side, ReadDenoiserSize(config, "sample_size", 32));
  const bool bias = config.Flag("attention_bias", true);
  const int64_t width = shape.width;
  const int64_t patch = shape.patch * shape.patch;
  build.Patches("patches", shape.in_channels, width, patch);
  DiffusionSpec spec = OfPicture(side, shape.patch, 0);
  AddPositionTable(spec.image_tokens, width, spec);
  for (int64_t i = 0; i < shape.blocks; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    build.Pair(name + ".step", kStepChannels, width, width);
    build.Table(name + ".classes", {classes + 1, width});  // one more: no class
    build.Linear(name + ".modulation", width, kModulations * width);
    build.Attention(name, width, width, bias);
    build.Pair(name + ".mlp", width, 4 * width, width);
    AddTransformerBlock(width, kDit, false, spec);
  }
  build.Linear("last_modulation", width, 2 * width);
  build.Linear("last", width, patch * shape.out_channels);
  return spec;
}

Result<DiffusionSpec> ReadPixArt(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 300;
  constexpr int64_t kSideOfPictures = 128;  // whose resolution and aspect ratio are told
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDitShape(config));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t side, ReadDenoiserSize(config, "sample_size", kSideOfPictures));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "caption_channels", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t context, ReadDenoiserSize(config, "cross_attention_dim", shape.width));
  const bool bias = config.Flag("attention_bias", true);
  const int64_t width = shape.width;
  const int64_t patch = shape.patch * shape.patch;
  build.Table("last_scale_shift", {2, width});
  build.Patches("patches", shape.in_channels, width, patch);
  DiffusionSpec spec = OfPicture(side, shape.patch, kTextTokens);
  AddPositionTable(spec.image_tokens, width, spec);
  for (int64_t i = 0; i < shape.blocks; ++i) {
    AddCrossBlock(fmt::format("blocks.{}", i), width, context, bias, false, build);
    AddTransformerBlock(width, kPixArt, false, spec);
  }
  build.Pair("step", kStepChannels, width, width);
  if (config.Flag("use_additional_conditions", side == kSideOfPictures)) {
    for (const char* name : {"resolution", "aspect_ratio"}) build.Pair(name, kStepChannels, width / 3, width / 3);
  }
  build.Linear("modulation", width, kModulations * width);
  if (text > 0) build.Pair("text_in", text, width, width);
  build.Linear("last", width, patch * shape.out_channels);
  return spec;
}

// The older class of both, told apart by its norm.
Result<DiffusionSpec> ReadPatchTransformer(const ConfigJson& config, ParameterBuilder& parameters) {
  const std::string norm = config.Text("norm_type").value_or("layer_norm");
  if (norm == "ada_norm_zero") return ReadDit(config, parameters);
  if (norm == "ada_norm_single") return ReadPixArt(config, parameters);
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("A Transformer2DModel with the norm_type \"{}\" is not known.", norm));
}

Result<DiffusionSpec> ReadHunyuanDit(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kMetaSizes = 6;  // of the picture before it was cropped
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {16, 88, 40, 4, 0, 2}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t side, ReadDenoiserSize(config, "sample_size", 128));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "cross_attention_dim", 1024));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t t5, ReadDenoiserSize(config, "cross_attention_dim_t5", 2048));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t pooled, ReadDenoiserSize(config, "pooled_projection_dim", 1024));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t tokens, ReadDenoiserSize(config, "text_len", 77));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t t5_tokens, ReadDenoiserSize(config, "text_len_t5", 256));
  const bool has_style = config.Flag("use_style_cond_and_image_meta_size", true);
  const int64_t width = shape.width;
  const auto inner = static_cast<int64_t>(static_cast<double>(width) * config.Number("mlp_ratio").value_or(4));
  if (inner <= 0 || inner > ConfigJson::kLargestSize)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("An MLP of width {}.", inner));
  build.Table("text_padding", {tokens + t5_tokens, text});
  build.Pair("text_in", t5, 4 * t5, text);
  build.Patches("patches", shape.in_channels, width, shape.patch * shape.patch);
  build.Pair("step", kStepChannels, width, width);
  build.Table("pooler.positions", {t5_tokens + 1, t5});
  for (const char* part : {"pooler.k", "pooler.q", "pooler.v"}) build.Linear(part, t5, t5);
  build.Linear("pooler.out", t5, pooled);
  if (has_style) build.Table("style", {1, width});
  const int64_t extra = pooled + (has_style ? kMetaSizes * kStepChannels + width : 0);
  build.Pair("extra", extra, 4 * width, width);
  DiffusionSpec spec = OfPicture(side, shape.patch, tokens + t5_tokens);
  for (int64_t i = 0; i < shape.blocks; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    build.Linear(name + ".modulation", width, width);
    for (const char* norm : {".first_norm", ".second_norm", ".third_norm"}) parameters.Norm(name + norm, width, true);
    build.Attention(name + ".self", width, width);
    build.Attention(name + ".cross", width, text);
    for (const char* part : {".self", ".cross"}) build.QueryKeyNorms(name + part, shape.head_dim, true);
    build.Pair(name + ".mlp", width, inner, width);
    if (i > shape.blocks / 2) {  // joined with the result of its counterpart in the first half
      parameters.Norm(name + ".skip_norm", 2 * width, true);
      build.Linear(name + ".skip", 2 * width, width);
    }
    AddTransformerBlock(width, kHunyuanDit, false, spec);
  }
  build.Linear("last_modulation", width, 2 * width);
  const int64_t out = (config.Flag("learn_sigma", true) ? 2 : 1) * shape.in_channels;
  build.Linear("last", width, shape.patch * shape.patch * out);
  return spec;
}

Result<DiffusionSpec> ReadWan(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 512;
  constexpr int64_t kPatch = 4;  // 1 x 2 x 2, where the configuration has none
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {40, 128, 40, 16, 16, 1}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "text_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t step, ReadDenoiserSize(config, "freq_dim", 256));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t inner, ReadDenoiserSize(config, "ffn_dim", 13824));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t picture, ReadDenoiserSize(config, "image_dim", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t added, ReadDenoiserSize(config, "added_kv_proj_dim", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t positions, ReadDenoiserSize(config, "pos_embed_seq_len", 0));
  int64_t patch = kPatch;
  if (const std::vector<int64_t> sizes = config.Integers("patch_size"); !sizes.empty()) {
    patch = 1;
    for (const int64_t size : sizes) {
      if (size <= 0 || size > 64) return Fail(ErrorCode::kInvalidArgument, fmt::format("Patches of {}.", size));
      patch *= size;
    }
  }
  const int64_t width = shape.width;
  build.Table("last_scale_shift", {2, width});
  build.Patches("patches", shape.in_channels, width, patch);
  build.Pair("step", step, width, width);
  build.Linear("modulation", width, kModulations * width);
  build.Pair("text_in", text, width, width);
  if (picture > 0) {
    parameters.Norm("picture.first_norm", picture, true);
    build.Pair("picture", picture, picture, width);
    parameters.Norm("picture.second_norm", width, true);
    if (positions > 0) build.Table("picture.positions", {positions, picture});
  }
  DiffusionSpec spec = OfVideo(21, 30, 52, kTextTokens, "a video of 81 frames of 832 x 480 pixels");
  for (int64_t i = 0; i < shape.blocks; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    build.Table(name + ".scale_shift", {kModulations, width});
    for (const char* part : {".self", ".cross"}) {
      build.Attention(name + part, width, width);
      build.QueryKeyNorms(name + part, width);
    }
    if (added > 0) {
      for (const char* part : {".cross.added_k", ".cross.added_v"}) build.Linear(name + part, added, width);
      parameters.Norm(name + ".cross.norm_added_k", width, false);
    }
    if (config.Flag("cross_attn_norm", true)) parameters.Norm(name + ".cross_norm", width, true);
    build.Pair(name + ".mlp", width, inner, width);
    AddTransformerBlock(width, kWan, false, spec);
  }
  build.Linear("last", width, patch * shape.out_channels);
  return spec;
}

Result<DiffusionSpec> ReadLtxVideo(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 128;
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {32, 64, 28, 128, 128, 1}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t context, ReadDenoiserSize(config, "cross_attention_dim", 2048));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "caption_channels", 4096));
  const bool bias = config.Flag("attention_bias", true);
  const int64_t width = shape.width;
  build.Table("last_scale_shift", {2, width});
  build.Linear("image_in", shape.in_channels, width);
  build.Pair("step", kStepChannels, width, width);
  build.Linear("modulation", width, kModulations * width);
  build.Pair("text_in", text, width, width);
  DiffusionSpec spec = OfVideo(21, 16, 22, kTextTokens, "a video of 161 frames of 704 x 512 pixels");
  for (int64_t i = 0; i < shape.blocks; ++i) {
    AddCrossBlock(fmt::format("blocks.{}", i), width, context, bias, true, build);
    AddTransformerBlock(width, kLtxVideo, false, spec);
  }
  build.Linear("last", width, shape.out_channels);
  return spec;
}

}  // namespace memstrata::plan
