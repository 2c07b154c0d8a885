#include "analysis/category/category.h"

#include <array>

namespace memstrata {
namespace {

/// A frame that tells what a block is. Empty parts match anything; the innermost matching frame of a stack decides.
struct Rule {
  std::string_view file;      // part of the path
  std::string_view function;  // part of the name
  Category category;
};

// Evidence: function names and files of PyTorch's own sources; docs/explanation/categories.md gives the reasons.
constexpr Rule kRules[] = {
    {"", "getNewWorkspace", Category::kWorkspace},
    {"", "getCurrentCUDABlasHandle", Category::kWorkspace},
    {"", "getCUDABlasLtWorkspace", Category::kWorkspace},
    {"", "allocateCUDABlasWorkspace", Category::kWorkspace},
    {"torch/optim/", "_init_group", Category::kOptimizerState},
    {"torch/optim/", "_multi_tensor_", Category::kTemporary},
    {"torch/optim/", "_single_tensor_", Category::kTemporary},
    {"torch/optim/", "__init__", Category::kOptimizerState},
    {"torch/optim/", "load_state_dict", Category::kOptimizerState},
    {"torch/optim/", "_process_value_according_to_param_policy", Category::kOptimizerState},
    {"torch/optim/optimizer.py", "wrapper", Category::kOptimizerState},
    {"", "Backward0::apply", Category::kGradient},
    {"_fsdp_param.py", "alloc_storage", Category::kParameter},
    {"torch/distributed/fsdp/", "_init_sharded_param", Category::kParameter},
    {"torch/distributed/fsdp/", "_get_shard", Category::kParameter},
    {"torch/distributed/fsdp/", "", Category::kCommunication},
    {"torch/distributed/distributed_c10d.py", "", Category::kCommunication},
    {"torch/nn/parallel/distributed.py", "", Category::kCommunication},
    {"", "c10d::Reducer", Category::kCommunication},
    {"", "ProcessGroupNCCL", Category::kCommunication},
    {"cache_utils", "", Category::kKvCache},  // of transformers, and what programs make of it
    {"kv_cache", "", Category::kKvCache},
    {"", "_allocate_kv_cache", Category::kKvCache},
    {"cache_engine.py", "", Category::kKvCache},
    {"param_and_grad_buffer.py", "", Category::kGradient},
    {"distrib_optimizer.py", "", Category::kOptimizerState},
    {"torch/nn/functional.py", "cross_entropy", Category::kLogits},
    {"torch/nn/functional.py", "log_softmax", Category::kLogits},
    {"", "log_softmax", Category::kLogits},
    {"", "nll_loss", Category::kLogits},
    {"torch/nn/modules/module.py", "_apply", Category::kParameter},
    {"torch/nn/modules/module.py", "convert", Category::kParameter},
    {"torch/nn/parameter.py", "__deepcopy__", Category::kParameter},
    {"", "reset_parameters", Category::kParameter},
    {"", "from_pretrained", Category::kParameter},
    {"", "load_state_dict", Category::kParameter},
    {"torch/nn/modules/", "__init__", Category::kParameter},
    {"torch/utils/data/", "", Category::kInput},
    {"", "send_to_device", Category::kInput},
    {"", "pin_memory", Category::kInput},
    {"torch/nn/modules/module.py", "_call_impl", Category::kActivation},
};

Category MatchFrame(std::string_view file, std::string_view function) {
  for (const Rule& rule : kRules) {
    if (file.find(rule.file) != std::string_view::npos && function.find(rule.function) != std::string_view::npos)
      return rule.category;
  }
  return Category::kUnknown;
}

constexpr std::string_view kWords[] = {
    "parameters",  "buffers", "gradients", "optimizer state", "activations",   "autocast copies", "logits",
    "temporaries", "inputs",  "KV cache",  "workspaces",      "communication", "stack",           "unknown blocks",
};
static_assert(std::size(kWords) == std::size(kCategoryNames));

}  // namespace

std::string_view CategoryWords(Category category) { return kWords[static_cast<size_t>(category)]; }

std::string_view HoldOrHolds(Category category) { return CategoryWords(category).ends_with('s') ? "hold" : "holds"; }

std::vector<Category> CategoriesByStack(const Store& store) {
  const FrameTable& frames = store.stacks.frames();
  std::vector<Category> by_frame(frames.size());
  for (uint32_t row = 0; row < frames.size(); ++row) {
    by_frame[row] = MatchFrame(store.String(frames.file[row]), store.String(frames.function[row]));
  }
  const StackTable& stacks = store.stacks.stacks();
  std::vector<Category> by_stack(stacks.size(), Category::kUnknown);
  for (uint32_t row = 1; row < stacks.size(); ++row) {  // parents come first
    const Category own = by_frame[stacks.frame[row].value];
    by_stack[row] = own != Category::kUnknown ? own : by_stack[stacks.parent[row].value];
  }
  return by_stack;
}

Category CategoryFromLabel(std::string_view label) {
  if (label == "autograd_detail") return Category::kTemporary;
  for (size_t i = 0; i < std::size(kCategoryNames); ++i) {
    if (label == kCategoryNames[i]) return static_cast<Category>(i);
  }
  return Category::kUnknown;
}

}  // namespace memstrata
