#include "plan/model/denoiser_builder.h"

#include <fmt/format.h>

namespace memstrata::plan {

void DenoiserBuilder::Linear(const std::string& name, int64_t in, int64_t out, bool bias) {
  build_.Linear(name, out, in, bias, Role::kReplicatedLinear);
}

void DenoiserBuilder::Pair(const std::string& name, int64_t in, int64_t inner, int64_t out) {
  Linear(name + ".first", in, inner);
  Linear(name + ".second", inner, out);
}

void DenoiserBuilder::Patches(const std::string& name, int64_t in, int64_t out, int64_t patch_elements, bool bias) {
  build_.Add(name + ".weight", {out, in, patch_elements}, Role::kConvolution);
  if (bias) build_.Add(name + ".bias", {out}, Role::kColumnBias);
}

void DenoiserBuilder::Table(const std::string& name, std::vector<int64_t> shape) {
  build_.Add(name, std::move(shape), Role::kPosition);
}

void DenoiserBuilder::Attention(const std::string& name, int64_t query_width, int64_t key_width, bool bias) {
  Linear(name + ".to_q", query_width, query_width, bias);
  Linear(name + ".to_k", key_width, query_width, bias);
  Linear(name + ".to_v", key_width, query_width, bias);
  Linear(name + ".to_out", query_width, query_width);
}

void DenoiserBuilder::QueryKeyNorms(const std::string& name, int64_t width, bool bias) {
  build_.Norm(name + ".norm_q", width, bias);
  build_.Norm(name + ".norm_k", width, bias);
}

Result<int64_t> ReadDenoiserSize(const ConfigJson& config, std::string_view key, int64_t otherwise) {
  constexpr int64_t kLargest = int64_t{1} << 16;
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t size, config.Integer(key, otherwise));
  if (size <= kLargest) return size;
  return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is {}; no denoiser has that.", key, size));
}

Result<DenoiserShape> ReadDenoiserShape(const ConfigJson& config, const UsualShape& usual) {
  DenoiserShape shape;
  MEMSTRATA_ASSIGN_OR_RETURN(shape.heads, ReadDenoiserSize(config, "num_attention_heads", usual.heads));
  MEMSTRATA_ASSIGN_OR_RETURN(shape.head_dim, ReadDenoiserSize(config, "attention_head_dim", usual.head_dim));
  MEMSTRATA_ASSIGN_OR_RETURN(shape.blocks, config.Integer("num_layers", usual.blocks));
  MEMSTRATA_ASSIGN_OR_RETURN(shape.in_channels, ReadDenoiserSize(config, "in_channels", usual.in_channels));
  const int64_t out = usual.out_channels > 0 ? usual.out_channels : shape.in_channels;
  MEMSTRATA_ASSIGN_OR_RETURN(shape.out_channels, ReadDenoiserSize(config, "out_channels", out));
  shape.patch = usual.patch;
  if (config.ArraySize("patch_size") == 0) {
    MEMSTRATA_ASSIGN_OR_RETURN(shape.patch, ReadDenoiserSize(config, "patch_size", usual.patch));
  }
  shape.width = shape.heads * shape.head_dim;
  if (shape.width <= 0 || shape.width > ConfigJson::kLargestSize) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} heads of width {}.", shape.heads, shape.head_dim));
  }
  if (shape.blocks <= 0 || shape.blocks > ConfigJson::kMostLayers) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("A transformer of {} blocks.", shape.blocks));
  }
  if (shape.patch <= 0 || shape.patch > 64 || shape.in_channels <= 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("Patches of {} and {} channels.", shape.patch, shape.in_channels));
  }
  return shape;
}

DiffusionSpec OfPicture(int64_t side, int64_t patch, int64_t text_tokens) {
  constexpr int64_t kPixelsOfLatent = 8;  // of the decoders of these models
  DiffusionSpec spec;
  spec.image_tokens = (side / patch) * (side / patch);
  spec.text_tokens = text_tokens;
  spec.sample = fmt::format("a picture of {0} x {0} pixels", side * kPixelsOfLatent);
  return spec;
}

DiffusionSpec OfVideo(int64_t frames, int64_t rows, int64_t columns, int64_t text_tokens, std::string sample) {
  DiffusionSpec spec;
  spec.image_tokens = frames * rows * columns;
  spec.text_tokens = text_tokens;
  spec.sample = std::move(sample);
  return spec;
}

void AddPositionTable(int64_t positions, int64_t width, DiffusionSpec& spec) {
  spec.buffers.push_back({"table of positions", {positions, width}, 0});
}

void AddTransformerBlock(int64_t width, const KeptChannels& kept, bool text_passes, DiffusionSpec& spec) {
  const auto channels = static_cast<double>(width);
  spec.AddBlock({0, kept.image * channels, kept.text * channels}, {0, channels, text_passes ? channels : 0});
}

}  // namespace memstrata::plan
