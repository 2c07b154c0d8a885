// The pickle machine on any bytes, with a consumer that keeps a flat copy of every container. What must hold: it ends,
// every handle that it passes on was made by the consumer, and nothing is called.

#include <cstdlib>
#include <vector>

#include "io/pickle/machine.h"

namespace {

using memstrata::pickle::HarmlessGlobal;
using memstrata::pickle::Kind;
using memstrata::pickle::Value;

class Consumer {
 public:
  Value Text(std::string_view bytes) {
    texts_.emplace_back(bytes);
    return {Kind::kText, static_cast<int64_t>(texts_.size() - 1)};
  }
  Value BigInteger(uint64_t bits, bool) { return {Kind::kBigInt, static_cast<int64_t>(bits >> 8)}; }
  Value HugeInteger() { return {Kind::kNone, 0}; }
  Value Float(double) { return {Kind::kFloat, 0}; }
  Value NewList() { return NewContainer(Kind::kList); }
  Value NewDict() { return NewContainer(Kind::kDict); }
  Value Tuple(std::span<const Value> items) {
    const Value tuple = NewContainer(Kind::kTuple);
    Keep(tuple, items);
    return tuple;
  }
  bool Append(Value list, std::span<const Value> items) {
    if (!list.is(Kind::kList)) return false;
    Keep(list, items);
    return true;
  }
  bool SetItems(Value dict, std::span<const Value> pairs) {
    if (!dict.is(Kind::kDict)) return false;
    if (pairs.size() % 2 != 0) std::abort();
    Keep(dict, pairs);
    return true;
  }
  // Every dict of text keys is worth a shape, so that the fast path is tried often.
  bool LearnShape(std::span<const Value> pairs) {
    for (size_t i = 0; i < pairs.size(); i += 2) {
      if (!pairs[i].is(Kind::kText)) return false;
    }
    shape_size_ = pairs.size() / 2;
    return true;
  }
  Value ShapedDict(const Value* values) {
    if (!values[memstrata::pickle::kMostShapeKeys].is(Kind::kNone)) std::abort();
    const Value dict = NewDict();
    Keep(dict, {values, shape_size_});
    return dict;
  }
  Value Harmless(HarmlessGlobal, Value arguments) {
    if (!arguments.is(Kind::kTuple)) std::abort();
    return NewDict();
  }
  std::string_view GetText(Value text) const { return texts_.at(text.handle()); }
  bool over_limit() const { return kept_ > 4'000'000; }
  void BeginClosing() {}

 private:
  Value NewContainer(Kind kind) {
    sizes_.push_back(0);
    return {kind, static_cast<int64_t>(sizes_.size() - 1)};
  }
  void Keep(Value container, std::span<const Value> items) {
    for (const Value item : items) Check(item);
    sizes_.at(container.handle()) += items.size();
    kept_ += items.size();
  }
  void Check(Value value) const {
    const bool container = value.is(Kind::kList) || value.is(Kind::kDict) || value.is(Kind::kTuple);
    if (container && value.handle() >= sizes_.size()) std::abort();
    if (value.is(Kind::kText) && value.handle() >= texts_.size()) std::abort();
  }

  std::vector<std::string> texts_;
  std::vector<size_t> sizes_;
  uint64_t kept_ = 0;
  size_t shape_size_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memstrata::MemorySource source({reinterpret_cast<const char*>(data), size});
  Consumer consumer;
  memstrata::pickle::Machine<Consumer> machine(
      source, consumer,
      {.longest_text_bytes = 1 << 20, .stack_values = 1 << 20, .marks = 1 << 12, .memo_slack = 1 << 12});
  const memstrata::pickle::Outcome outcome = machine.Run();
  if (outcome.complete == outcome.error.has_value()) std::abort();  // it ends well or says why not
  return 0;
}
