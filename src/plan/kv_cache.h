#pragma once
// What a sequence keeps while it generates: keys and values, latent vectors, states. Formulas per layer kind as in
// vLLM's cache specifications; sizes are exact for a given page size.

#include <cstdint>
#include <vector>

#include "plan/model/model_description.h"
#include "plan/workload.h"

namespace memstrata::plan {

/// How an engine lays the cache out.
struct CacheLayout {
  int64_t page_tokens = 1;  // tokens that are allocated together
  CacheFormat format = CacheFormat::k16;
  int64_t tensor_parallel = 1;   // divides the heads (at least one stays); latent vectors are not divided
  int64_t context_parallel = 1;  // ranks that each keep their part of a session's tokens
  int64_t batched_tokens = 0;    // a sliding window holds that many more
  bool groups_layers = false;    // layers of several kinds share pages of one size (vLLM's hybrid cache)
};

inline constexpr int64_t kLlamaCppBatchTokens = 512;  // llama.cpp's default n_ubatch

CacheLayout LayoutOf(const Workload& workload);
/// True when all layers that keep anything keep whole sequences.
bool HasOneKind(const std::vector<CacheLayer>& layers);
/// Bytes of one layer for one sequence of `tokens`.
uint64_t LayerCacheBytes(const CacheLayer& layer, int64_t tokens, const CacheLayout& layout);
uint64_t SequenceCacheBytes(const std::vector<CacheLayer>& layers, int64_t tokens, const CacheLayout& layout);
uint64_t SequenceCacheBytes(const ModelDescription& model, int64_t tokens, const CacheLayout& layout);
/// Growth for each further token in the layers that grow without bound.
uint64_t CacheBytesPerToken(const std::vector<CacheLayer>& layers, const CacheLayout& layout);
uint64_t CacheBytesPerToken(const ModelDescription& model, const CacheLayout& layout);

}  // namespace memstrata::plan
