#include "plan/kv_cache.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

constexpr int64_t kEnginePageTokens = 16;    // vLLM's and SGLang's default
constexpr int64_t kLlamaCppPadTokens = 256;  // with flash attention

constexpr uint64_t kStateElementBytes = 4;  // states of state-space layers are kept in float32

int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

uint64_t Bytes(int64_t elements, int64_t bits) {
  return (static_cast<uint64_t>(elements) * static_cast<uint64_t>(bits) + 7) / 8;
}

}  // namespace

CacheLayout LayoutOf(const Workload& workload) {
  CacheLayout layout;
  layout.bits = workload.kv_bits;
  layout.tensor_parallel = workload.parallel.tensor;
  if (workload.engine == Engine::kVllm || workload.engine == Engine::kSglang) {
    layout.page_tokens = kEnginePageTokens;
    layout.batched_tokens = workload.batched_tokens;
  }
  if (workload.engine == Engine::kLlamaCpp) layout.page_tokens = kLlamaCppPadTokens;
  return layout;
}

uint64_t LayerCacheBytes(const CacheLayer& layer, int64_t tokens, const CacheLayout& layout) {
  const int64_t held = RoundUp(tokens, layout.page_tokens);
  const int64_t heads = std::max<int64_t>(1, layer.kv_heads / layout.tensor_parallel);
  switch (layer.kind) {
    case CacheLayer::Kind::kFull:
      return Bytes(held * heads * (layer.key_dim + layer.value_dim), layout.bits);
    case CacheLayer::Kind::kSliding: {
      const int64_t window = std::min(layer.window - 1 + std::max<int64_t>(1, layout.batched_tokens), tokens);
      const int64_t pages = RoundUp(window, layout.page_tokens) + (layout.page_tokens > 1 ? layout.page_tokens : 0);
      return Bytes(std::min(pages, held) * heads * (layer.key_dim + layer.value_dim), layout.bits);
    }
    case CacheLayer::Kind::kLatent:
      return Bytes(held * (layer.key_dim + layer.value_dim), layout.bits);
    case CacheLayer::Kind::kState:
      return static_cast<uint64_t>(layer.state_elements / layout.tensor_parallel) * kStateElementBytes;
    case CacheLayer::Kind::kNone:
      return 0;
  }
  return 0;
}

uint64_t SequenceCacheBytes(const ModelDescription& model, int64_t tokens, const CacheLayout& layout) {
  uint64_t bytes = 0;
  for (const CacheLayer& layer : model.cache) bytes += LayerCacheBytes(layer, tokens, layout);
  return bytes;
}

uint64_t CacheBytesPerToken(const ModelDescription& model, const CacheLayout& layout) {
  uint64_t bytes = 0;
  CacheLayout one = layout;
  one.page_tokens = 1;
  for (const CacheLayer& layer : model.cache) {
    if (layer.kind == CacheLayer::Kind::kFull || layer.kind == CacheLayer::Kind::kLatent)
      bytes += LayerCacheBytes(layer, 1, one);
  }
  return bytes;
}

}  // namespace memstrata::plan
