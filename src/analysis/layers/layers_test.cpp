#include "analysis/layers/layers.h"

#include <gtest/gtest.h>

#include "analysis/test_program.h"

namespace memstrata {
namespace {

constexpr std::string_view kModuleCall = "_call_impl@torch/nn/modules/module.py:1700";
constexpr std::string_view kLoop = "forward@model.py:71";
constexpr uint64_t kMiB = 1 << 20;

// Steps of a model of blocks with a norm and a linear each, between an embedding and a head; SGD with momentum.
class LayeredProgram {
 public:
  explicit LayeredProgram(uint32_t layer_count) : layer_count_(layer_count) {}

  Store Run(uint32_t step_count) {
    Load();
    for (uint32_t step = 0; step < step_count; ++step) {
      Forward();
      Backward();
      Update(step == 0);
    }
    return program_.Finish();
  }

  const std::vector<uint32_t>& gradients() const { return all_gradients_; }  // in the order in which they are made
  const std::vector<uint32_t>& parameters() const { return parameters_; }

 private:
  static constexpr uint64_t kNormBytes = 4096;
  static constexpr uint64_t kWeightBytes = 3 * kMiB;
  static constexpr uint64_t kTableBytes = 40 * kMiB;

  void Load() {
    const auto load = [&](uint64_t size_bytes, bool is_deep) {
      parameters_.push_back(is_deep ? program_.Alloc(size_bytes, {"<module>@train.py:9", "train@train.py:1",
                                                                  "_apply@torch/nn/modules/module.py:900",
                                                                  "_apply@torch/nn/modules/module.py:900"})
                                    : program_.Alloc(size_bytes, {"<module>@train.py:9", "train@train.py:1",
                                                                  "_apply@torch/nn/modules/module.py:900"}));
    };
    load(kTableBytes, false);
    for (uint32_t layer = 0; layer < layer_count_; ++layer) {
      load(kNormBytes, true);
      load(kWeightBytes, true);
    }
    load(kNormBytes, false);  // of the norm before the head: as large as those of the layers
  }

  void Forward() {
    embedding_ = program_.Alloc(2 * kMiB, {"<module>@train.py:9", "train@train.py:2", kModuleCall,
                                           "forward@model.py:70", kModuleCall, "forward@torch/nn/modules/sparse.py:5"});
    for (uint32_t layer = 0; layer < layer_count_; ++layer) {
      norms_.push_back(program_.Alloc(
          2 * kMiB, {"<module>@train.py:9", "train@train.py:2", kModuleCall, kLoop, kModuleCall, "forward@block.py:10",
                     kModuleCall, "forward@torch/nn/modules/normalization.py:7"}));
      linears_.push_back(
          program_.Alloc(8 * kMiB, {"<module>@train.py:9", "train@train.py:2", kModuleCall, kLoop, kModuleCall,
                                    "forward@block.py:11", kModuleCall, "forward@torch/nn/modules/linear.py:7"}));
      results_.push_back(program_.Alloc(2 * kMiB, {"<module>@train.py:9", "train@train.py:2", kModuleCall, kLoop,
                                                   kModuleCall, "forward@block.py:12"}));
    }
    head_ = program_.Alloc(2 * kMiB, {"<module>@train.py:9", "train@train.py:2", kModuleCall, "forward@model.py:73",
                                      kModuleCall, "forward@torch/nn/modules/normalization.py:7"});
  }

  // A node allocates the gradient, then gives back what it saved.
  void Backward() {
    const uint32_t root =
        program_.Alloc(4, {"<module>@train.py:9", "train@train.py:3", "_make_grads@torch/autograd/__init__.py:2"});
    AddGradient(kNormBytes);
    program_.Free(head_, {});
    for (uint32_t layer = layer_count_; layer-- > 0;) {
      program_.Free(results_[layer], {});
      AddGradient(kWeightBytes);
      program_.Free(linears_[layer], {});
      AddGradient(kNormBytes);
      program_.Free(norms_[layer], {});
    }
    AddGradient(kTableBytes);
    program_.Free(embedding_, {});
    program_.Free(root, {});
    norms_.clear();
    linears_.clear();
    results_.clear();
  }

  void AddGradient(uint64_t size_bytes) {
    gradients_.push_back(program_.Alloc(size_bytes, {}));
    all_gradients_.push_back(gradients_.back());
  }

  void Update(bool is_first) {
    for (size_t i = 0; i < parameters_.size() && is_first; ++i) {
      const bool is_table = i == 0;
      const bool is_norm = i % 2 == 1;
      program_.Alloc(is_table  ? kTableBytes
                     : is_norm ? kNormBytes
                               : kWeightBytes,
                     {"<module>@train.py:9", "train@train.py:4", "wrapper@torch/optim/optimizer.py:480",
                      "_single_tensor_sgd@torch/optim/sgd.py:70"});
    }
    for (const uint32_t gradient : gradients_) {
      program_.Free(gradient, {"<module>@train.py:9", "train@train.py:5", "zero_grad@torch/optim/optimizer.py:900"});
    }
    gradients_.clear();
  }

  TestProgram program_;
  uint32_t layer_count_;
  uint32_t embedding_ = 0;
  uint32_t head_ = 0;
  std::vector<uint32_t> norms_;
  std::vector<uint32_t> linears_;
  std::vector<uint32_t> results_;
  std::vector<uint32_t> gradients_;
  std::vector<uint32_t> all_gradients_;
  std::vector<uint32_t> parameters_;
};

ModulePaths PathsOf(const HeapAnalysis& analysis) {
  return FindModulePaths(*analysis.store, *analysis.heap, analysis.timeline, analysis.categories);
}

TEST(ModulePaths, NumberTheCallsOfAForward) {
  const Store store = LayeredProgram(5).Run(2);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const ModulePaths paths = PathsOf(analysis);
  std::vector<std::string> linears;
  for (const std::string& text : paths.texts) {
    if (text.ends_with("linear.py")) linears.push_back(text);
  }
  EXPECT_EQ(linears,
            (std::vector<std::string>{"model.py:71[0]/block.py:11/linear.py", "model.py:71[1]/block.py:11/linear.py",
                                      "model.py:71[2]/block.py:11/linear.py", "model.py:71[3]/block.py:11/linear.py",
                                      "model.py:71[4]/block.py:11/linear.py"}));
  EXPECT_NE(std::find(paths.texts.begin(), paths.texts.end(), "model.py:70/sparse.py"), paths.texts.end());
}

TEST(ModulePaths, GradientsHaveTheLayerThatTheirOrderProves) {
  LayeredProgram program(5);
  const Store store = program.Run(2);
  const ModulePaths paths = PathsOf(AnalyseHeap(store, store.heaps[0]));
  std::vector<uint32_t> layers;
  for (const uint32_t row : program.gradients()) layers.push_back(paths.layer_of_row[row]);
  const std::vector<uint32_t> one_step = {kNone, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0, kNone};
  EXPECT_EQ(std::vector<uint32_t>(layers.begin(), layers.begin() + 12), one_step);
  EXPECT_EQ(std::vector<uint32_t>(layers.begin() + 12, layers.end()), one_step);
}

TEST(ModulePaths, ParametersHaveTheLayerOfTheirPartOfTheModel) {
  LayeredProgram program(3);
  const Store store = program.Run(2);
  const ModulePaths paths = PathsOf(AnalyseHeap(store, store.heaps[0]));
  std::vector<uint32_t> layers;
  for (const uint32_t row : program.parameters()) layers.push_back(paths.layer_of_row[row]);
  EXPECT_EQ(layers, (std::vector<uint32_t>{kNone, 0, 0, 1, 1, 2, 2, kNone}));
}

TEST(ModulePaths, AreNotKnownWithoutStacks) {
  const Store store = MakeTraining(2, 0, false);
  const ModulePaths paths = PathsOf(AnalyseHeap(store, store.heaps[0]));
  EXPECT_EQ(paths.texts.size(), 1U);
  EXPECT_TRUE(paths.loops.empty());
}

TEST(RepeatedLayers, AreCountedWithWhatTheyHold) {
  const Store store = LayeredProgram(6).Run(2);
  const HeapAnalysis analysis = AnalyseHeap(store, store.heaps[0]);
  const std::vector<RepeatedLayer> layers = FindRepeatedLayers(analysis, PathsOf(analysis), 5);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].loop.place, "model.py:71");
  EXPECT_EQ(layers[0].loop.layer_count, 6U);
  EXPECT_EQ(layers[0].kept_bytes, 6 * 12 * kMiB);
  EXPECT_EQ(layers[0].gradient_bytes, 6 * (3 * kMiB + 4096));
  EXPECT_EQ(layers[0].parameter_bytes, 6 * (3 * kMiB + 4096));
  EXPECT_EQ(layers[0].optimizer_state_bytes, 6 * (3 * kMiB + 4096));
}

}  // namespace
}  // namespace memstrata
