#include "plan/model/stored_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace memstrata::plan {
namespace {

// Part of a name → what it is for; the first that is found counts.
constexpr std::pair<std::string_view, Role> kRoles[] = {{"_exps", Role::kExpert},
                                                        {".experts.", Role::kExpert},
                                                        {"token_embd", Role::kEmbedding},
                                                        {"embed_tokens", Role::kEmbedding},
                                                        {"norm", Role::kNorm},
                                                        {"attn_output", Role::kRow},
                                                        {"o_proj", Role::kRow},
                                                        {"ffn_down", Role::kRow},
                                                        {"down_proj", Role::kRow},
                                                        {"attn_q", Role::kColumn},
                                                        {"attn_k", Role::kColumn},
                                                        {"attn_v", Role::kColumn},
                                                        {"q_proj", Role::kColumn},
                                                        {"k_proj", Role::kColumn},
                                                        {"v_proj", Role::kColumn},
                                                        {"ffn_gate", Role::kColumn},
                                                        {"ffn_up", Role::kColumn},
                                                        {"gate_proj", Role::kColumn},
                                                        {"up_proj", Role::kColumn},
                                                        {"lm_head", Role::kHead},
                                                        {"output.weight", Role::kHead}};

// "blk.3.ffn_up.weight" and "model.layers.3.mlp.up_proj.weight" are of layer 3.
int32_t LayerOf(std::string_view name) {
  constexpr int32_t kBeforeLayers = -1;
  for (const std::string_view mark : {std::string_view("blk."), std::string_view("layers.")}) {
    const size_t at = name.find(mark);
    if (at == std::string_view::npos) continue;
    int32_t layer = kBeforeLayers;
    const char* begin = name.data() + at + mark.size();
    if (std::from_chars(begin, name.data() + name.size(), layer).ec == std::errc{} && layer >= 0) return layer;
  }
  return kBeforeLayers;
}

}  // namespace

Result<uint64_t> CountStoredElements(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && count > kMostStoredElements / static_cast<uint64_t>(size))) {
      return Fail(ErrorCode::kCorruptInput, "A tensor's shape is negative or beyond 2^50 elements.");
    }
    count *= static_cast<uint64_t>(size);
  }
  return count;
}

Status AddElements(int64_t count, int64_t& sum) {
  if (count > static_cast<int64_t>(kMostStoredElements) - sum)
    return Fail(ErrorCode::kCorruptInput, "The tensors have more than 2^50 elements together.");
  sum += count;
  return {};
}

Status AddStored(WeightsHeader& header, StoredTensor tensor) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t count, CountStoredElements(tensor.shape));
  MEMSTRATA_TRY(AddElements(static_cast<int64_t>(count), header.parameter_count));
  header.total_bytes += tensor.bytes;
  header.tensors.push_back(std::move(tensor));
  return {};
}

Status CheckPlaces(const std::vector<StoredTensor>& tensors, bool may_have_gaps) {
  std::vector<const StoredTensor*> sorted;
  sorted.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) {
    if (tensor.bytes > 0) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  uint64_t end = 0;
  const StoredTensor* before = nullptr;
  for (const StoredTensor* tensor : sorted) {
    if (tensor->offset < end && before != nullptr)
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("\"{}\" and \"{}\" lie on the same bytes.", before->name, tensor->name));
    if (tensor->offset > end && !may_have_gaps)
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("{} bytes before \"{}\" belong to no tensor.", tensor->offset - end, tensor->name));
    if (tensor->bytes > UINT64_MAX - tensor->offset)
      return Fail(ErrorCode::kCorruptInput, fmt::format("\"{}\" ends beyond 2^64 bytes.", tensor->name));
    end = tensor->offset + tensor->bytes;
    before = tensor;
  }
  return {};
}

ParameterSpec ParameterOf(const StoredTensor& tensor) {
  ParameterSpec parameter{tensor.name, tensor.shape, Role::kReplicatedLinear, LayerOf(tensor.name)};
  for (const auto& [part, role] : kRoles) {
    if (tensor.name.find(part) == std::string::npos) continue;
    parameter.role = role;
    break;
  }
  return parameter;
}

}  // namespace memstrata::plan
