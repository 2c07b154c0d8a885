#pragma once
// After an error or a cut-off: closes what lies open, so that what was read is not lost. Part of io/pickle/machine.h;
// include that.

#include "io/pickle/machine.h"

namespace memstrata::pickle {

// Values above `floor` whose own container lies just below them: a writer that was cut off between making a value and
// putting it in. Only what is certain is put in: records into lists, lists into lists that are themselves a value, and
// (outside any mark, where protocol 0 works) a key and its value into a dict.
// A dict that protocol 0 has not put into its list yet may be half a record, and is dropped.
template <class Consumer>
void Machine<Consumer>::CollapseTop(size_t floor, bool inside_dict) {
  while (stack_.size() > floor + 1) {
    const Value top = Top(1)[0];
    const Value below = Top(2)[0];
    const bool in_marks = floor > 0;
    if (below.is(Kind::kList) && (top.is(Kind::kDict) || (top.is(Kind::kList) && (inside_dict || !in_marks)))) {
      if (in_marks || top.is(Kind::kList)) (void)consumer_.Append(below, Top(1));
    } else if (!in_marks && below.is(Kind::kText) && stack_.size() > 2 && Top(3)[0].is(Kind::kDict)) {
      (void)consumer_.SetItems(Top(3)[0], Top(2));
      stack_.Truncate(stack_.size() - 1);
    } else if (in_marks || !top.is(Kind::kText) || !below.is(Kind::kDict)) {
      return;
    }
    stack_.Truncate(stack_.size() - 1);
  }
}

template <class Consumer>
void Machine<Consumer>::CloseOpenContainers() {
  while (!marks_.empty()) {
    const size_t mark = marks_.back();
    const bool is_outermost = marks_.size() == 1;
    const size_t floor = is_outermost ? 0 : marks_[marks_.size() - 2];
    const Value owner = mark > floor ? stack_[mark - 1] : Value();
    CollapseTop(mark, owner.is(Kind::kDict));
    const std::span<const Value> items = stack_.span().subspan(mark);
    if (owner.is(Kind::kList) && !items.empty()) {
      (void)consumer_.Append(owner, items);
    } else if (owner.is(Kind::kDict) && is_outermost && items.size() >= 2) {
      (void)consumer_.SetItems(owner, items.first(items.size() / 2 * 2));
    }
    DropMark();
    // A dict below the outermost one is a record of some list: half a record is none.
    if (owner.is(Kind::kDict) && !is_outermost) stack_.Truncate(mark - 1);
  }
  CollapseTop(0, false);
  stack_.Truncate(1);  // the root
}

}  // namespace memstrata::pickle
