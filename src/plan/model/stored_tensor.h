#pragma once
// Tensors as a weights file's header names them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model/gguf_metadata.h"
#include "plan/model/parameter_spec.h"

namespace memstrata::plan {

struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string type;  // as the file calls it
  uint64_t bytes = 0;
  uint64_t offset = 0;  // of its first byte, behind the header
};

struct WeightsHeader {
  std::vector<StoredTensor> tensors;
  uint64_t total_bytes = 0;
  int64_t parameter_count = 0;
  bool is_cut = false;  // the file ends before its tensors do
  GgufMetadata metadata;
};

/// Of one tensor, and of all together.
inline constexpr uint64_t kMostStoredElements = uint64_t{1} << 50;

/// Elements of a shape; kCorruptInput for a negative size or more than the most.
Result<uint64_t> CountStoredElements(const std::vector<int64_t>& shape);
/// kCorruptInput when the sum would be more than the most.
Status AddElements(int64_t count, int64_t& sum);
/// kCorruptInput for a shape or a sum beyond the most.
Status AddStored(WeightsHeader& header, StoredTensor tensor);
/// kCorruptInput when two tensors lie on the same bytes, or when bytes between them belong to none and may not.
Status CheckPlaces(const std::vector<StoredTensor>& tensors, bool may_have_gaps);
/// The tensor with the role that its name tells, in GGUF's or transformers' words.
ParameterSpec ParameterOf(const StoredTensor& tensor);

}  // namespace memstrata::plan
