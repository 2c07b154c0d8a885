#include "plan/kv_cache.h"

#include <algorithm>

namespace memstrata::plan {
namespace {

constexpr int64_t kEnginePageTokens = 16;    // vLLM's and SGLang's default
constexpr int64_t kLlamaCppPadTokens = 256;  // with flash attention

constexpr uint64_t kStateElementBytes = 4;  // states of state-space layers are kept in float32

int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Bits of one element, with the scales of its block, in halves: some formats have 4.5 or 8.5.
int64_t HalfBits(CacheFormat format) {
  switch (format) {
    case CacheFormat::k32:
      return 64;
    case CacheFormat::k16:
      return 32;
    case CacheFormat::k8:
    case CacheFormat::k8Scaled:
    case CacheFormat::kFp8Latent:
      return 16;
    case CacheFormat::kQ8_0:
      return 17;  // 34 B for 32 elements
    case CacheFormat::kQ5_1:
      return 12;
    case CacheFormat::kQ5_0:
      return 11;
    case CacheFormat::kQ4_1:
      return 10;
    case CacheFormat::kQ4_0:
      return 9;  // 18 B for 32 elements
    case CacheFormat::kNvfp4:
      return 9;  // 4 bits, and 8 for each 16 elements
  }
  return 32;
}

uint64_t Bytes(int64_t elements, CacheFormat format) {
  return (static_cast<uint64_t>(elements) * static_cast<uint64_t>(HalfBits(format)) + 15) / 16;
}

constexpr uint64_t kScaleBytes = 4;  // float32

// Keys and values of `tokens` in one layer.
uint64_t HeadBytes(const CacheLayer& layer, int64_t tokens, int64_t heads, CacheFormat format) {
  const uint64_t scales = format == CacheFormat::k8Scaled ? 2 * kScaleBytes * static_cast<uint64_t>(tokens * heads) : 0;
  return Bytes(tokens * heads * (layer.key_dim + layer.value_dim), format) + scales;
}

uint64_t LatentBytes(const CacheLayer& layer, int64_t tokens, CacheFormat format) {
  if (format != CacheFormat::kFp8Latent) return Bytes(tokens * (layer.key_dim + layer.value_dim), format);
  constexpr int64_t kScaledElements = 128;
  const uint64_t scales = kScaleBytes * static_cast<uint64_t>((layer.key_dim + kScaledElements - 1) / kScaledElements);
  return static_cast<uint64_t>(tokens) * (static_cast<uint64_t>(layer.key_dim + 2 * layer.value_dim) + scales);
}

}  // namespace

CacheLayout LayoutOf(const Workload& workload) {
  CacheLayout layout;
  layout.format = workload.cache_format;
  layout.tensor_parallel = workload.parallel.tensor;
  layout.context_parallel = workload.parallel.context;
  if (workload.engine == Engine::kVllm || workload.engine == Engine::kSglang) {
    layout.page_tokens = kEnginePageTokens;
    layout.batched_tokens = workload.batched_tokens;
    layout.groups_layers = workload.engine == Engine::kVllm;
  }
  if (workload.engine == Engine::kLlamaCpp) {
    layout.page_tokens = kLlamaCppPadTokens;
    layout.batched_tokens = kLlamaCppBatchTokens;
  }
  return layout;
}

uint64_t LayerCacheBytes(const CacheLayer& layer, int64_t tokens, const CacheLayout& layout) {
  const int64_t own = (tokens + layout.context_parallel - 1) / layout.context_parallel;
  const int64_t held = RoundUp(own, layout.page_tokens);
  const int64_t heads = std::max<int64_t>(1, layer.kv_heads / layout.tensor_parallel);
  switch (layer.kind) {
    case CacheLayer::Kind::kFull:
      return HeadBytes(layer, held, heads, layout.format);
    case CacheLayer::Kind::kSliding: {
      const int64_t window = std::min(layer.window - 1 + std::max<int64_t>(1, layout.batched_tokens), own);
      const int64_t pages = RoundUp(window, layout.page_tokens) + (layout.page_tokens > 1 ? layout.page_tokens : 0);
      return HeadBytes(layer, std::min(pages, held), heads, layout.format);
    }
    case CacheLayer::Kind::kFixed:
      return HeadBytes(layer, RoundUp(layer.window, layout.page_tokens), heads, layout.format);
    case CacheLayer::Kind::kLatent:
      return LatentBytes(layer, held, layout.format);
    case CacheLayer::Kind::kState:
      return static_cast<uint64_t>(layer.state_elements / layout.tensor_parallel) * kStateElementBytes;
    case CacheLayer::Kind::kNone:
      return 0;
  }
  return 0;
}

namespace {

// Layers that one group of pages can hold: of one kind, one shape and one window.
bool IsSameGroup(const CacheLayer& a, const CacheLayer& b) {
  return a.kind == b.kind && a.kv_heads == b.kv_heads && a.key_dim == b.key_dim && a.value_dim == b.value_dim &&
         a.window == b.window && a.state_elements == b.state_elements;
}

struct LayerGroup {
  CacheLayer layer;
  int64_t count = 0;
};

std::vector<LayerGroup> GroupsOf(const std::vector<CacheLayer>& layers) {
  std::vector<LayerGroup> groups;
  for (const CacheLayer& layer : layers) {
    if (layer.kind == CacheLayer::Kind::kNone) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const LayerGroup& group) { return IsSameGroup(group.layer, layer); });
    if (same == groups.end()) {
      groups.push_back({layer, 1});
    } else {
      ++same->count;
    }
  }
  return groups;
}

// vLLM's hybrid cache: pages of all groups are alike, so a group of layers is as large as the smallest kind (or as the
// largest, where that is less than a quarter more), kinds are padded to whole groups, and a page of attention holds as
// many tokens as the state of a state-space layer needs bytes.
uint64_t GroupedCacheBytes(const std::vector<LayerGroup>& groups, int64_t tokens, CacheLayout layout) {
  constexpr double kPadded = 1.25;
  int64_t least = groups.front().count;
  int64_t most = groups.front().count;
  uint64_t state_bytes = 0;
  uint64_t token_bytes = 0;
  CacheLayout one = layout;
  one.page_tokens = 1;
  for (const LayerGroup& group : groups) {
    least = std::min(least, group.count);
    most = std::max(most, group.count);
    const bool is_state = group.layer.kind == CacheLayer::Kind::kState;
    const uint64_t each = LayerCacheBytes(group.layer, 1, one);
    if (is_state) state_bytes = std::max(state_bytes, each);
    if (!is_state) token_bytes = std::max(token_bytes, each);
  }
  if (state_bytes > 0 && token_bytes > 0) {
    const auto needed = static_cast<int64_t>((state_bytes + token_bytes - 1) / token_bytes);
    layout.page_tokens = std::max(layout.page_tokens, RoundUp(needed, kEnginePageTokens));
  }
  const int64_t size = static_cast<double>(most) < kPadded * static_cast<double>(least) ? most : least;
  uint64_t bytes = 0;
  for (const LayerGroup& group : groups) {
    const bool is_padded_state = group.layer.kind == CacheLayer::Kind::kState && token_bytes > 0;
    const uint64_t each = is_padded_state ? token_bytes * static_cast<uint64_t>(layout.page_tokens)
                                          : LayerCacheBytes(group.layer, tokens, layout);
    bytes += each * static_cast<uint64_t>(RoundUp(group.count, size));
  }
  return bytes;
}

}  // namespace

bool HasOneKind(const std::vector<CacheLayer>& layers) {
  return std::all_of(layers.begin(), layers.end(), [](const CacheLayer& layer) {
    return layer.kind == CacheLayer::Kind::kFull || layer.kind == CacheLayer::Kind::kLatent ||
           layer.kind == CacheLayer::Kind::kNone;
  });
}

uint64_t SequenceCacheBytes(const std::vector<CacheLayer>& layers, int64_t tokens, const CacheLayout& layout) {
  if (layout.groups_layers) {
    const std::vector<LayerGroup> groups = GroupsOf(layers);
    if (groups.size() > 1) return GroupedCacheBytes(groups, tokens, layout);
  }
  uint64_t bytes = 0;
  for (const CacheLayer& layer : layers) bytes += LayerCacheBytes(layer, tokens, layout);
  return bytes;
}

uint64_t SequenceCacheBytes(const ModelDescription& model, int64_t tokens, const CacheLayout& layout) {
  return SequenceCacheBytes(model.cache, tokens, layout);
}

uint64_t CacheBytesPerToken(const std::vector<CacheLayer>& layers, const CacheLayout& layout) {
  uint64_t bytes = 0;
  CacheLayout one = layout;
  one.page_tokens = 1;
  for (const CacheLayer& layer : layers) {
    if (layer.kind == CacheLayer::Kind::kFull || layer.kind == CacheLayer::Kind::kLatent)
      bytes += LayerCacheBytes(layer, 1, one);
  }
  return bytes;
}

uint64_t CacheBytesPerToken(const ModelDescription& model, const CacheLayout& layout) {
  return CacheBytesPerToken(model.cache, layout);
}

}  // namespace memstrata::plan
