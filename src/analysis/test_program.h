#pragma once
// A program written event by event, for tests of analyses: no file, no reader.
//
//   TestProgram program;
//   const auto block = program.Alloc(512, {"<module>@train.py:10", "forward@model.py:3"});  // outermost first
//   program.Free(block, {});
//   const Store store = program.Finish();

#include <charconv>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "model/store/store.h"

namespace memstrata {

class TestProgram {
 public:
  using Frames = std::initializer_list<std::string_view>;

  /// Without stacks the program leaves order and sizes only.
  explicit TestProgram(bool keeps_stacks = true) : keeps_stacks_(keeps_stacks) {}

  uint32_t Alloc(uint64_t size_bytes, Frames outermost_first) {
    const auto row = static_cast<uint32_t>(store_.allocations.size());
    const StackId stack = Intern(outermost_first);
    AllocationTable& table = store_.allocations;
    table.addr.PushBack(kFirstAddress + uint64_t{row} * 0x1000000);
    table.size_bytes.PushBack(size_bytes);
    table.block_bytes.PushBack((size_bytes + 511) / 512 * 512);
    table.alloc_seq.PushBack(static_cast<uint32_t>(store_.events.size()));
    table.free_requested_seq.PushBack(kNone);
    table.free_seq.PushBack(kNone);
    table.stack.PushBack(stack);
    table.free_stack.PushBack({0});
    table.stream.PushBack(0);
    table.pool.PushBack(kNone);
    table.flags.PushBack(0);
    Event(EventKind::kAlloc, row, stack);
    return row;
  }

  void Free(uint32_t row, Frames outermost_first) {
    const StackId stack = Intern(outermost_first);
    AllocationTable& table = store_.allocations;
    table.free_stack[row] = stack;
    table.free_requested_seq[row] = static_cast<uint32_t>(store_.events.size());
    Event(EventKind::kFreeRequested, row, stack);
    table.free_seq[row] = static_cast<uint32_t>(store_.events.size());
    Event(EventKind::kFreeCompleted, row, stack);
  }

  uint64_t SizeOf(uint32_t row) const { return store_.allocations.size_bytes[row]; }
  /// Events so far.
  uint32_t event_count() const { return static_cast<uint32_t>(store_.events.size()); }

  /// A range of events that the program names.
  void Annotate(std::string_view name, uint32_t begin_seq, uint32_t end_seq) {
    SpanTable& spans = store_.spans;
    spans.name.PushBack(store_.strings.Intern(name));
    spans.kind.PushBack(SpanKind::kAnnotation);
    spans.begin_ns.PushBack(begin_seq);
    spans.end_ns.PushBack(end_seq);
    spans.heap.PushBack(0);
    spans.begin_seq.PushBack(begin_seq);
    spans.end_seq.PushBack(end_seq);
    spans.depth.PushBack(0);
    spans.track.PushBack(0);
  }

  /// A request that fails.
  void Fail(uint64_t size_bytes, Frames outermost_first) {
    EventTable& events = store_.events;
    events.kind.PushBack(EventKind::kOutOfMemory);
    events.addr.PushBack(kUnknownBytes);
    events.size_bytes.PushBack(size_bytes);
    events.stream.PushBack(0);
    events.stack.PushBack(Intern(outermost_first));
    events.allocation.PushBack(kNone);
  }

  Store Finish() {
    Heap heap;
    heap.id = "cuda:0";
    heap.capabilities.has_stacks = keeps_stacks_;
    heap.events = {0, static_cast<uint32_t>(store_.events.size())};
    heap.allocations = {0, static_cast<uint32_t>(store_.allocations.size())};
    store_.heaps.push_back(heap);
    store_.streams.push_back(0);
    return std::move(store_);
  }

 private:
  static constexpr uint64_t kFirstAddress = 0x7f0000000000;

  void Event(EventKind kind, uint32_t row, StackId stack) {
    EventTable& events = store_.events;
    events.kind.PushBack(kind);
    events.addr.PushBack(store_.allocations.addr[row]);
    events.size_bytes.PushBack(store_.allocations.size_bytes[row]);
    events.stream.PushBack(0);
    events.stack.PushBack(stack);
    events.allocation.PushBack(row);
  }

  // "function@file:line"
  FrameId InternFrame(std::string_view text) {
    const size_t at = text.find('@');
    const size_t colon = text.rfind(':');
    uint32_t line = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
    return store_.stacks.InternFrame(store_.strings.Intern(text.substr(0, at)),
                                     store_.strings.Intern(text.substr(at + 1, colon - at - 1)), line,
                                     GuessFrameKind(text.substr(at + 1, colon - at - 1), text.substr(0, at)));
  }

  StackId Intern(Frames outermost_first) {
    if (!keeps_stacks_) return {0};
    std::vector<FrameId> innermost_first;
    for (auto frame = std::rbegin(outermost_first); frame != std::rend(outermost_first); ++frame) {
      innermost_first.push_back(InternFrame(*frame));
    }
    return store_.stacks.InternStack(innermost_first);
  }

  Store store_;
  bool keeps_stacks_;
};

/// What becomes of a training's model and optimizer when its steps are over.
enum class Ending : uint8_t {
  kStays,
  kReturns,  // the function that holds them returns
  kFails,    // a request of the next backward fails, and the exception leaves that function
};

/// `step_count` steps of a model with four parameters and Adam: forward, loss, backward, optimizer, zero_grad. With
/// `leak_bytes`, each step keeps a block of that size.
inline Store MakeTraining(uint32_t step_count, uint64_t leak_bytes = 0, bool keeps_stacks = true,
                          Ending ending = Ending::kStays) {
  constexpr uint64_t kParameterBytes = 1 << 20;
  constexpr int kParameterCount = 4;
  TestProgram program(keeps_stacks);
  std::vector<uint32_t> of_model;
  for (int i = 0; i < kParameterCount; ++i) {
    of_model.push_back(program.Alloc(
        kParameterBytes, {"<module>@train.py:90", "train@train.py:10", "_apply@torch/nn/modules/module.py:900"}));
  }
  uint32_t old_input = kNone;
  for (uint32_t step = 0; step < step_count; ++step) {
    const uint32_t input = program.Alloc(4096, {"<module>@train.py:90", "train@train.py:20", "batch@train.py:5"});
    if (old_input != kNone) program.Free(old_input, {"<module>@train.py:90", "train@train.py:20"});
    old_input = input;
    std::vector<uint32_t> activations;
    activations.reserve(5);
    for (int i = 0; i < 4; ++i) {
      activations.push_back(
          program.Alloc(2 << 20, {"<module>@train.py:90", "train@train.py:21",
                                  "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
    }
    activations.push_back(program.Alloc(
        8 << 20, {"<module>@train.py:90", "train@train.py:22", "cross_entropy@torch/nn/functional.py:3000"}));
    const uint32_t root =
        program.Alloc(4, {"<module>@train.py:90", "train@train.py:23", "backward@torch/autograd/__init__.py:340",
                          "_make_grads@torch/autograd/__init__.py:220"});
    program.Free(program.Alloc(8 << 20, {}), {});
    std::vector<uint32_t> gradients;
    for (int i = 0; i < kParameterCount; ++i) {
      gradients.push_back(program.Alloc(kParameterBytes, {}));
      program.Free(activations.back(), {});
      activations.pop_back();
    }
    program.Free(activations.back(), {});
    program.Free(root, {});
    for (int i = 0; i < 2 * kParameterCount && step == 0; ++i) {
      of_model.push_back(program.Alloc(
          kParameterBytes, {"<module>@train.py:90", "train@train.py:24", "wrapper@torch/optim/optimizer.py:480",
                            "_init_group@torch/optim/adam.py:170"}));
    }
    std::vector<uint32_t> temporaries;
    temporaries.reserve(kParameterCount);
    for (int i = 0; i < kParameterCount; ++i) {
      temporaries.push_back(program.Alloc(
          kParameterBytes, {"<module>@train.py:90", "train@train.py:24", "wrapper@torch/optim/optimizer.py:480",
                            "_multi_tensor_adam@torch/optim/adam.py:700"}));
    }
    for (const uint32_t block : temporaries) {
      program.Free(block, {"<module>@train.py:90", "train@train.py:24", "wrapper@torch/optim/optimizer.py:480"});
    }
    for (const uint32_t block : gradients) {
      program.Free(block, {"<module>@train.py:90", "train@train.py:25", "zero_grad@torch/optim/optimizer.py:900"});
    }
    if (leak_bytes > 0) program.Alloc(leak_bytes, {"<module>@train.py:90", "train@train.py:26", "remember@train.py:7"});
  }
  if (ending == Ending::kFails) {
    of_model.push_back(program.Alloc(40 << 20, {"<module>@train.py:90", "train@train.py:21",
                                                "_call_impl@torch/nn/modules/module.py:1700", "forward@model.py:8"}));
    of_model.push_back(
        program.Alloc(4, {"<module>@train.py:90", "train@train.py:23", "backward@torch/autograd/__init__.py:340",
                          "_make_grads@torch/autograd/__init__.py:220"}));
    of_model.push_back(program.Alloc(1 << 20, {}));
    program.Fail(64 << 20, {});
  }
  if (ending != Ending::kStays) {
    for (const uint32_t block : of_model) program.Free(block, {"<module>@train.py:90"});
  }
  return program.Finish();
}

}  // namespace memstrata
