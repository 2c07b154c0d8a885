/** A list of heaps to choose from by typing: for sessions of many hosts and devices. */
import { useRef, useState } from "preact/hooks";
import { formatCount } from "../base/units.ts";
import type { Heap } from "../data/types.ts";
import { heapLine, matchingHeaps } from "./heap_filter.ts";

const mostShown = 50;

export interface HeapComboProps {
  heaps: readonly Heap[];
  chosen: Heap;
  onChoose: (index: number) => void;
}

export function HeapCombo({ heaps, chosen, onChoose }: HeapComboProps) {
  const [text, setText] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const open = text !== null;
  const found = open ? matchingHeaps(heaps, text) : [];
  const shown = found.slice(0, mostShown);
  const choose = (heap: Heap) => {
    setText(null);
    input.current?.blur();
    onChoose(heap.index);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setActive(Math.max(0, Math.min(shown.length - 1, active + (event.key === "ArrowDown" ? 1 : -1))));
      event.preventDefault();
    } else if (event.key === "Enter" && shown[active]) choose(shown[active]);
    else if (event.key === "Escape") {
      setText(null);
      input.current?.blur();
    }
  };
  // The types allow the role only together with an explicit list.
  const combobox = {
    role: "combobox" as const,
    list: undefined,
    "aria-expanded": open,
    "aria-controls": "ms-heap-list",
    "aria-activedescendant": open && shown[active] ? `ms-heap-${active}` : undefined,
  };
  return (
    <div class="ms-search ms-heapcombo">
      <input
        ref={input}
        class="ms-search__input"
        type="text"
        {...combobox}
        aria-label="Heap"
        title={`${heapLine(chosen)}; type to find another of ${formatCount(heaps.length)}`}
        placeholder="Host, device or memory ID"
        value={text ?? heapLine(chosen)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onFocus={() => {
          setText("");
          setActive(0);
        }}
        onBlur={() => setTimeout(() => setText(null), 120)}
        onKeyDown={onKey}
      />
      <div class={open ? "ms-search__list" : "ms-hidden"}>
        <p class="ms-search__total">
          {found.length > shown.length
            ? `the first ${shown.length} of ${formatCount(found.length)}; type to narrow them`
            : `${formatCount(found.length)} of ${formatCount(heaps.length)}`}
        </p>
        <div id="ms-heap-list" role="listbox" aria-label="Heaps">
          {shown.map((heap, index) => (
            <div
              key={heap.index}
              id={`ms-heap-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              class={`ms-search__hit ${index === active ? "ms-search__hit--on" : ""}`}
              onPointerDown={() => choose(heap)}
            >
              <strong>{heap.id}</strong>
              <span class="ms-quiet">{heapLine(heap).slice(heap.id.length + 3)}</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
