// Diffusion transformers whose blocks attend to the tokens of picture and text as one sequence.

#include <fmt/format.h>

#include <algorithm>

#include "plan/model/denoiser_builder.h"

namespace memstrata::plan {
namespace {

// What a block of diffusers 0.35 keeps, in elements a channel and token, in bf16.
constexpr KeptChannels kFluxPair{28.1, 28.1};
constexpr KeptChannels kFluxSingle{25.1, 25.1};
constexpr KeptChannels kStableDiffusion3{21.1, 21.1};
constexpr KeptChannels kStableDiffusion3WithNorms{29.1, 29.1};
constexpr double kSecondAttention = 14.1;  // of the picture's tokens alone (Stable Diffusion 3.5 medium)
constexpr KeptChannels kHunyuanVideoPair{28.1, 28.1};
constexpr KeptChannels kHunyuanVideoSingle{26.3, 26.3};
constexpr KeptChannels kCogVideoX{23.2, 23.2};

constexpr int64_t kPictureSide = 128;  // latent pixels of 1024 x 1024, where the configuration has no size
constexpr int64_t kModulations = 6;    // shift, scale and gate, of attention and of the MLP

// Of those beside the pairs.
Status CheckBlocks(int64_t singles, int64_t refiners) {
  if (std::max(singles, refiners) <= ConfigJson::kMostLayers) return {};
  return Fail(ErrorCode::kInvalidArgument, fmt::format("A transformer of {} blocks.", singles + refiners));
}

// Attention and MLP of one side of a block that keeps two sets of weights.
void AddSide(const std::string& name, int64_t width, int64_t head_dim, bool has_norms, DenoiserBuilder& build) {
  build.Linear(name + ".modulation", width, kModulations * width);
  build.Attention(name, width, width);
  if (has_norms) build.QueryKeyNorms(name, head_dim);
  build.Pair(name + ".mlp", width, 4 * width, width);
}

void AddPairBlocks(const char* prefix, const DenoiserShape& shape, const KeptChannels& kept, DenoiserBuilder& build,
                   DiffusionSpec& spec) {
  for (int64_t i = 0; i < shape.blocks; ++i) {
    for (const char* side : {"image", "text"})
      AddSide(fmt::format("{}.{}.{}", prefix, i, side), shape.width, shape.head_dim, true, build);
    AddTransformerBlock(shape.width, kept, true, spec);
  }
}

// Attention and MLP side by side, one product for both results.
void AddSingleBlocks(int64_t count, const DenoiserShape& shape, const KeptChannels& kept, DenoiserBuilder& build,
                     DiffusionSpec& spec) {
  const int64_t width = shape.width;
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("singles.{}", i);
    build.Linear(name + ".modulation", width, 3 * width);
    for (const char* part : {".to_q", ".to_k", ".to_v"}) build.Linear(name + part, width, width);
    build.QueryKeyNorms(name, shape.head_dim);
    build.Linear(name + ".up", width, 4 * width);
    build.Linear(name + ".out", 5 * width, width);
    AddTransformerBlock(width, kept, true, spec);
  }
}

void AddLastLayers(int64_t width, int64_t out, DenoiserBuilder& build) {
  build.Linear("last_modulation", width, 2 * width);
  build.Linear("last", width, out);
}

// The last block gives nothing for the text: it has neither its MLP nor its result, and modulates only its norm.
void AddStableDiffusion3Block(const std::string& name, const DenoiserShape& shape, bool has_norms, bool is_last,
                              bool attends_twice, DenoiserBuilder& build) {
  const int64_t width = shape.width;
  constexpr int64_t kModulationsOfTwo = 9;
  build.Linear(name + ".image.modulation", width, (attends_twice ? kModulationsOfTwo : kModulations) * width);
  build.Attention(name + ".image", width, width);
  if (has_norms) build.QueryKeyNorms(name + ".image", shape.head_dim);
  build.Pair(name + ".image.mlp", width, 4 * width, width);
  if (attends_twice) {
    build.Attention(name + ".second", width, width);
    if (has_norms) build.QueryKeyNorms(name + ".second", shape.head_dim);
  }
  if (!is_last) {
    AddSide(name + ".text", width, shape.head_dim, has_norms, build);
    return;
  }
  build.Linear(name + ".text.modulation", width, 2 * width);
  for (const char* part : {".text.to_q", ".text.to_k", ".text.to_v"}) build.Linear(name + part, width, width);
  if (has_norms) build.QueryKeyNorms(name + ".text", shape.head_dim);
}

// The text passes two blocks of its own before it meets the video.
void AddTextRefiner(int64_t width, int64_t text_width, int64_t blocks, DenoiserBuilder& build) {
  build.Pair("text.step", kStepChannels, width, width);
  build.Pair("text.pooled", text_width, width, width);
  build.Linear("text.in", text_width, width);
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string name = fmt::format("text.blocks.{}", i);
    build.build().Norm(name + ".first_norm", width, true);
    build.Attention(name, width, width);
    build.build().Norm(name + ".second_norm", width, true);
    build.Pair(name + ".mlp", width, 4 * width, width);
    build.Linear(name + ".modulation", width, 2 * width);
  }
}

}  // namespace

Result<DiffusionSpec> ReadFlux(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 512;
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {24, 128, 19, 64, 0, 1}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t singles, config.Integer("num_single_layers", 38));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "joint_attention_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t pooled, ReadDenoiserSize(config, "pooled_projection_dim", 768));
  MEMSTRATA_TRY(CheckBlocks(singles, 0));
  const int64_t width = shape.width;
  build.Linear("image_in", shape.in_channels, width);
  build.Linear("text_in", text, width);
  build.Pair("step", kStepChannels, width, width);
  if (config.Flag("guidance_embeds", false)) build.Pair("guidance", kStepChannels, width, width);
  build.Pair("pooled", pooled, width, width);
  DiffusionSpec spec = OfPicture(kPictureSide, 2, kTextTokens);  // pairs of latent pixels come in as channels
  AddPairBlocks("pairs", shape, kFluxPair, build, spec);
  AddSingleBlocks(singles, shape, kFluxSingle, build, spec);
  AddLastLayers(width, shape.out_channels, build);
  return spec;
}

Result<DiffusionSpec> ReadStableDiffusion3(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 77 + 256;  // of CLIP and of T5
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {18, 64, 18, 16, 16, 2}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "joint_attention_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text_width, ReadDenoiserSize(config, "caption_projection_dim", 1152));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t pooled, ReadDenoiserSize(config, "pooled_projection_dim", 2048));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t side, ReadDenoiserSize(config, "sample_size", 128));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t positions, ReadDenoiserSize(config, "pos_embed_max_size", 96));
  const std::vector<int64_t> twice = config.Integers("dual_attention_layers");
  const bool has_norms = config.Has("qk_norm");
  const int64_t width = shape.width;
  build.Patches("patches", shape.in_channels, width, shape.patch * shape.patch);
  build.Pair("step", kStepChannels, width, width);
  build.Pair("pooled", pooled, width, width);
  build.Linear("text_in", text, text_width);
  DiffusionSpec spec = OfPicture(side, shape.patch, kTextTokens);
  AddPositionTable(positions * positions, width, spec);
  for (int64_t i = 0; i < shape.blocks; ++i) {
    const bool attends_twice = std::find(twice.begin(), twice.end(), i) != twice.end();
    AddStableDiffusion3Block(fmt::format("blocks.{}", i), shape, has_norms, i + 1 == shape.blocks, attends_twice,
                             build);
    KeptChannels kept = has_norms ? kStableDiffusion3WithNorms : kStableDiffusion3;
    if (attends_twice) kept.image += kSecondAttention;
    AddTransformerBlock(width, kept, true, spec);
  }
  AddLastLayers(width, shape.patch * shape.patch * shape.out_channels, build);
  return spec;
}

Result<DiffusionSpec> ReadHunyuanVideo(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 256;
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {24, 128, 20, 16, 16, 2}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t singles, config.Integer("num_single_layers", 40));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t refiners, config.Integer("num_refiner_layers", 2));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t frames, ReadDenoiserSize(config, "patch_size_t", 1));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "text_embed_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t pooled, ReadDenoiserSize(config, "pooled_projection_dim", 768));
  MEMSTRATA_TRY(CheckBlocks(singles, refiners));
  const int64_t width = shape.width;
  const int64_t patch = frames * shape.patch * shape.patch;
  build.Patches("patches", shape.in_channels, width, patch);
  AddTextRefiner(width, text, refiners, build);
  build.Pair("step", kStepChannels, width, width);
  build.Pair("pooled", pooled, width, width);
  if (config.Flag("guidance_embeds", true)) build.Pair("guidance", kStepChannels, width, width);
  DiffusionSpec spec = OfVideo(33, 45, 80, kTextTokens, "a video of 129 frames of 1280 x 720 pixels");
  AddPairBlocks("pairs", shape, kHunyuanVideoPair, build, spec);
  AddSingleBlocks(singles, shape, kHunyuanVideoSingle, build, spec);
  AddLastLayers(width, patch * shape.out_channels, build);
  return spec;
}

Result<DiffusionSpec> ReadQwenImage(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kTextTokens = 512;
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {24, 128, 60, 64, 16, 2}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "joint_attention_dim", 3584));
  const int64_t width = shape.width;
  build.Pair("step", kStepChannels, width, width);
  parameters.Norm("text_norm", text, false);
  build.Linear("image_in", shape.in_channels, width);
  build.Linear("text_in", text, width);
  DiffusionSpec spec = OfPicture(kPictureSide, 2, kTextTokens);
  AddPairBlocks("blocks", shape, kFluxPair, build, spec);
  AddLastLayers(width, shape.patch * shape.patch * shape.out_channels, build);
  return spec;
}

Result<DiffusionSpec> ReadCogVideoX(const ConfigJson& config, ParameterBuilder& parameters) {
  constexpr int64_t kFramesOfLatent = 4;
  DenoiserBuilder build(parameters);
  MEMSTRATA_ASSIGN_OR_RETURN(const DenoiserShape shape, ReadDenoiserShape(config, {30, 64, 30, 16, 16, 2}));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t step, ReadDenoiserSize(config, "time_embed_dim", 512));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text, ReadDenoiserSize(config, "text_embed_dim", 4096));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t text_tokens, ReadDenoiserSize(config, "max_text_seq_length", 226));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t joined, ReadDenoiserSize(config, "patch_size_t", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t offset, ReadDenoiserSize(config, "ofs_embed_dim", 0));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t sample_frames, ReadDenoiserSize(config, "sample_frames", 49));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t rows, ReadDenoiserSize(config, "sample_height", 60));
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t columns, ReadDenoiserSize(config, "sample_width", 90));
  const bool bias = config.Flag("attention_bias", true);
  const int64_t width = shape.width;
  const int64_t frames = std::max<int64_t>(1, joined);
  const int64_t patch = frames * shape.patch * shape.patch;
  build.Patches("patches", shape.in_channels, width, patch, joined > 0 || config.Flag("patch_bias", true));
  build.Linear("text_in", text, width);
  build.Pair("step", width, step, step);
  if (offset > 0) build.Pair("offset", offset, offset, offset);
  const int64_t latent_frames = (sample_frames - 1) / kFramesOfLatent + 1;
  DiffusionSpec spec = OfVideo((latent_frames + frames - 1) / frames, rows / shape.patch, columns / shape.patch,
                               text_tokens, fmt::format("a video of {} frames", sample_frames));
  for (int64_t i = 0; i < shape.blocks; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    for (const char* part : {".first", ".second"}) {
      build.Linear(name + part + "_modulation", step, kModulations * width);
      parameters.Norm(name + part + "_norm", width, true);
    }
    build.Attention(name, width, width, bias);
    build.QueryKeyNorms(name, shape.head_dim, true);
    build.Pair(name + ".mlp", width, 4 * width, width);
    AddTransformerBlock(width, kCogVideoX, true, spec);
  }
  parameters.Norm("norm", width, true);
  build.Linear("last_modulation", step, 2 * width);
  parameters.Norm("last_norm", width, true);
  build.Linear("last", width, patch * shape.out_channels);
  return spec;
}

}  // namespace memstrata::plan
