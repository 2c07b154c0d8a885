#pragma once
// The opcodes that would run code: refused by name, but for the explicit list of io/pickle/globals.h. Part of
// io/pickle/machine.h; include that.

#include "io/pickle/machine.h"

namespace memstrata::pickle {

template <class Consumer>
bool Machine<Consumer>::Refuse(uint8_t opcode, std::string_view global) {
  const std::string what = global.empty() ? "something outside the file" : fmt::format("\"{}\"", global);
  Fail(ErrorCode::kUnsupportedFormat,
       fmt::format(
           "The pickle asks to load or call {} ({}). Nothing in a file is ever executed, so it is refused; a memory "
           "snapshot holds only data.",
           what, OpcodeName(opcode)),
       op_offset());
  return false;
}

template <class Consumer>
bool Machine<Consumer>::PushGlobal(uint8_t opcode, std::string_view module, std::string_view name) {
  for (size_t i = 0; i < std::size(kHarmlessGlobals); ++i) {
    if (module == kHarmlessGlobals[i].module && name == kHarmlessGlobals[i].name) {
      return Push(Value(Kind::kGlobal, static_cast<int64_t>(i)));
    }
  }
  return Refuse(opcode, fmt::format("{}.{}", ReplaceControl(module), ReplaceControl(name)));
}

template <class Consumer>
bool Machine<Consumer>::Call(uint8_t opcode) {
  // callable, arguments: only a harmless global with a tuple of arguments that the consumer keeps as such.
  if (!Has(2)) return false;
  const Value arguments = Top(1)[0];
  const Value callable = Top(2)[0];
  if (!callable.is(Kind::kGlobal) || !arguments.is(Kind::kTuple)) return Refuse(opcode, "");
  const Value made = consumer_.Harmless(kHarmlessGlobals[callable.handle()].which, arguments);
  stack_.Truncate(stack_.size() - 2);
  return Push(made);
}

template <class Consumer>
bool Machine<Consumer>::StepGlobal(uint8_t opcode) {
  std::string_view first;
  switch (opcode) {
    case kGlobal:
    case kInst: {
      if (!TakeLine(&first)) return false;
      const std::string module(first);
      std::string_view name;
      if (!TakeLine(&name)) return false;
      if (opcode == kInst) return Refuse(opcode, fmt::format("{}.{}", ReplaceControl(module), ReplaceControl(name)));
      return PushGlobal(opcode, module, name);
    }
    case kStackGlobal: {
      if (!Has(2)) return false;
      const Value name = Top(1)[0];
      const Value module = Top(2)[0];
      if (!name.is(Kind::kText) || !module.is(Kind::kText)) return Refuse(opcode, "");
      const std::string module_text(consumer_.GetText(module));
      const std::string name_text(consumer_.GetText(name));
      stack_.Truncate(stack_.size() - 2);
      return PushGlobal(opcode, module_text, name_text);
    }
    case kReduce:
    case kNewObj:
      return Call(opcode);
    case kPersId:
      if (!TakeLine(&first)) return false;
      return Refuse(opcode, ReplaceControl(first));
    default:
      return Refuse(opcode, "");
  }
}

}  // namespace memstrata::pickle
