/** Search over functions, files, categories, addresses and sizes; a hit moves the cursor and pins. */
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../base/text.ts";
import { formatBytes, formatCount } from "../base/units.ts";
import type { SearchHit, SearchResult } from "../data/types.ts";
import type { AppState } from "../state/app_state.ts";
import { useApp, useJson } from "../state/context.ts";
import { MiddleCut } from "../widgets/middle_cut.tsx";

const waitMs = 150;

interface Hits {
  hits: readonly SearchHit[];
  note: string;
  /** False while there is too little text to search for. */
  asked: boolean;
}

/** Hits of the text, once the typing rests. */
function useHits(text: string): Hits {
  const app = useApp();
  const [query, setQuery] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text), waitMs);
    return () => clearTimeout(timer);
  }, [text]);
  const asked = query.length >= 2 && app.heap.value.index >= 0;
  const question = { heap: app.heapIndex.value, q: query, limit: 50 };
  const { value, error, isCurrent } = useJson<SearchResult>("search", asked ? question : null);
  const hits = asked && isCurrent && value ? value.hits : [];
  return { hits, note: searchNote(value, error, isCurrent), asked };
}

export function SearchBox() {
  const app = useApp();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const { hits, note, asked } = useHits(text.trim());
  const choose = (hit: SearchHit) => {
    goTo(app, hit);
    setOpen(false);
    input.current?.blur();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setActive(Math.max(0, Math.min(hits.length - 1, active + (event.key === "ArrowDown" ? 1 : -1))));
      event.preventDefault();
    } else if (event.key === "Enter" && hits[active]) choose(hits[active]);
    else if (event.key === "Escape") {
      setOpen(false);
      input.current?.blur();
    }
  };
  // The types allow the role only together with an explicit list.
  const combobox = {
    role: "combobox" as const,
    list: undefined,
    "aria-expanded": open && asked,
    "aria-controls": "ms-search-hits",
    "aria-activedescendant": open && hits[active] ? `ms-search-hit-${active}` : undefined,
  };
  return (
    <div class="ms-search">
      <input
        ref={input}
        id="ms-search"
        class="ms-search__input"
        type="text"
        {...combobox}
        aria-label="Search"
        placeholder="Function, file, address, size > 1 GiB"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 120)}
        onKeyDown={onKey}
      />
      <span class="ms-search__key" aria-hidden="true">
        /
      </span>
      <HitList hits={hits} note={note} active={active} isOpen={open && asked} onChoose={choose} />
    </div>
  );
}

interface HitListProps {
  hits: readonly SearchHit[];
  note: string;
  active: number;
  isOpen: boolean;
  onChoose: (hit: SearchHit) => void;
}

function HitList({ hits, note, active, isOpen, onChoose }: HitListProps) {
  return (
    <div class={isOpen ? "ms-search__list" : "ms-hidden"}>
      <p class="ms-search__total">{note}</p>
      <div id="ms-search-hits" role="listbox" aria-label="Hits">
        {hits.map((hit, index) => (
          <Hit
            key={`${hit.kind} ${hit.label} ${hit.where}`}
            hit={hit}
            index={index}
            isActive={index === active}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  );
}

interface HitProps {
  hit: SearchHit;
  index: number;
  isActive: boolean;
  onChoose: (hit: SearchHit) => void;
}

function Hit({ hit, index, isActive, onChoose }: HitProps) {
  return (
    <div
      id={`ms-search-hit-${index}`}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      class={`ms-search__hit ${isActive ? "ms-search__hit--on" : ""}`}
      onPointerDown={() => onChoose(hit)}
    >
      <strong>
        <MiddleCut text={hit.label} />
      </strong>
      <span class="ms-quiet">
        <MiddleCut text={hit.where} />
      </span>
      <span class="ms-search__bytes">
        {formatBytes(hit.bytes)} {hit.bytes_are === "total" && hit.block_count > 1 ? "in all" : ""}
      </span>
    </div>
  );
}

function searchNote(value: SearchResult | null, error: Error | null, isCurrent: boolean): string {
  if (error) return error.message;
  if (!isCurrent || !value) return "Searching.";
  if (value.total === 0) return "Nothing in this heap matches.";
  if (value.note) return `${formatCount(value.total)} ${plural(value.total, "hit")} ${value.note}`;
  return value.total > value.hits.length
    ? `${formatCount(value.hits.length)} of ${formatCount(value.total)} hits`
    : `${formatCount(value.total)} ${plural(value.total, "hit")}`;
}

function goTo(app: AppState, hit: SearchHit): void {
  if (hit.seq !== null) app.moveTo(hit.seq);
  if (hit.allocation !== null) app.pinnedRow.value = hit.allocation;
  if (!["timeline", "state", "breakdown", "address_map"].includes(app.view.peek())) app.view.value = "timeline";
}
