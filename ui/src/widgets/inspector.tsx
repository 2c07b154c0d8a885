/** The pinned allocation: facts, stack, neighbours in memory, and everything else from the same stack. */

import { categoryFill, categoryLabel } from "../base/palette.ts";
import { plural } from "../base/text.ts";
import { formatBytes, formatCount, formatDuration, formatExactBytes, formatShare } from "../base/units.ts";
import type { Allocation, Neighbour } from "../data/types.ts";
import type { AppState } from "../state/app_state.ts";
import { useApp, useJson } from "../state/context.ts";
import { bytesColumn, countColumn } from "./columns.tsx";
import { type Column, DataTable } from "./data_table.tsx";
import { ErrorNotice, LoadingNotice } from "./notice.tsx";
import { StackList } from "./stack_list.tsx";
import { Swatch } from "./swatch.tsx";

export function Inspector() {
  const app = useApp();
  const row = app.pinnedRow.value;
  const { value: fact, error } = useJson<Allocation>(
    "allocation",
    row === null ? null : { heap: app.heapIndex.value, row },
  );
  if (row === null) return null;
  return (
    <aside class="ms-inspector" aria-label="Pinned allocation">
      <button
        type="button"
        class="ms-button ms-inspector__close"
        title="Release the pin"
        aria-label="Release the pin (escape)"
        onClick={() => {
          app.pinnedRow.value = null;
        }}
      >
        esc
      </button>
      {error ? (
        <ErrorNotice error={error} />
      ) : !fact ? (
        <LoadingNotice what="Reading the allocation." />
      ) : (
        <Facts fact={fact} />
      )}
    </aside>
  );
}

function Facts({ fact }: { fact: Allocation }) {
  const app = useApp();
  return (
    <>
      <header class="ms-inspector__head">
        <h2>
          <Swatch fill={categoryFill(app.themeName.value, fact.category)} />
          {formatBytes(fact.size_bytes)}, {fact.label}
        </h2>
        <p>{verdict(app, fact)}</p>
      </header>
      <section class="ms-panel">
        <h3>Allocation</h3>
        <dl class="ms-facts">
          {factRows(fact).map(([name, text, detail]) => (
            <div key={name} class="ms-facts__row">
              <dt>{name}</dt>
              <dd>
                {text} {detail && <span class="ms-quiet">{detail}</span>}
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <StackList title="Allocated in" frames={fact.stack} empty="No stack was recorded for this allocation." />
      {fact.free_stack.length > 0 && <StackList title="Freed in" frames={fact.free_stack} empty="" />}
      <Neighbours rows={fact.neighbours} />
      <SameStack fact={fact} />
    </>
  );
}

function verdict(app: AppState, fact: Allocation): string {
  const heap = app.heap.value;
  const peak = heap.peak_live_seq;
  const until = fact.free_seq === null ? "to the end of the recording" : `until event ${formatCount(fact.free_seq)}`;
  const since = fact.alloc_seq === null ? "It was there before the recording and lives" : "It lives";
  const atPeak =
    peak !== null && (fact.alloc_seq ?? 0) <= peak && (fact.free_seq === null || fact.free_seq > peak)
      ? `It is ${formatShare(fact.size_bytes / Math.max(1, heap.peak_live_bytes))} of the peak.`
      : "It is not part of the peak.";
  return `${since} ${until}. ${atPeak}`;
}

function factRows(fact: Allocation): [string, string, string?][] {
  const rounding =
    fact.block_bytes === null
      ? ""
      : fact.block_bytes === fact.size_bytes
        ? "no rounding"
        : `${formatBytes(fact.block_bytes - fact.size_bytes)} rounding`;
  const begin = fact.alloc_seq === null ? "before the recording" : formatCount(fact.alloc_seq);
  const end = fact.free_seq === null ? "the end" : formatCount(fact.free_seq);
  const events =
    fact.alloc_seq !== null && fact.free_seq !== null ? `${formatCount(fact.free_seq - fact.alloc_seq)} events` : "";
  const timed = fact.alloc_offset_ns !== null && fact.free_offset_ns !== null;
  const duration = timed ? formatDuration(fact.free_offset_ns! - fact.alloc_offset_ns!) : "";
  const phase = [fact.step === null ? null : `step ${fact.step}`, fact.phase].filter(Boolean).join(", ");
  const rows: [string, string | null, string?][] = [
    ["Requested", formatExactBytes(fact.size_bytes)],
    ["Block", fact.block_bytes === null ? null : formatExactBytes(fact.block_bytes), rounding],
    ["Category", categoryLabel(fact.category), fact.category_basis ? `by ${fact.category_basis}` : ""],
    ["Lifetime", `${begin} to ${end}`, [events, duration].filter(Boolean).join(", ")],
    ["Phase", phase || null, fact.free_phase && fact.free_phase !== fact.phase ? `to ${fact.free_phase}` : ""],
    ["Stream, pool", [fact.stream, fact.pool].filter((part) => part !== null).join(", ") || null],
    ["Address", fact.address],
    ["Operation", fact.op],
    ["Shape", [fact.data_type, fact.shape].filter(Boolean).join(" ") || null],
  ];
  return rows.filter((row): row is [string, string, string?] => row[1] !== null);
}

/** Of the width of the neighbours: what a letter takes of it. A name that has no room is on hover. */
const letterShare = 0.024;

function Neighbours({ rows }: { rows: readonly Neighbour[] }) {
  const app = useApp();
  if (rows.length < 2) return null;
  const total = rows.reduce((sum, row) => sum + Math.sqrt(row.size_bytes), 0);
  return (
    <section class="ms-panel">
      <div class="ms-panel__head">
        <h3>Neighbours in memory</h3>
        <span class="ms-quiet">when it was allocated</span>
      </div>
      <div class="ms-neighbours">
        {rows.map((row, index) => {
          const fill = row.state === "idle" ? null : categoryFill(app.themeName.value, row.category);
          const share = Math.sqrt(row.size_bytes) / total;
          const name = row.is_this ? "this" : formatBytes(row.size_bytes);
          const text = `${row.state === "idle" ? "idle" : row.label}, ${formatBytes(row.size_bytes)}`;
          return (
            <span
              // Neighbours have no identity of their own; the order is the address order.
              key={`${index} ${row.row}`}
              class={`ms-neighbours__block ${row.is_this ? "ms-neighbours__block--this" : ""} ${fill ? "" : "ms-neighbours__block--idle"}`}
              style={{
                flexGrow: share,
                ...(fill ? { backgroundColor: fill.fill, color: fill.text } : {}),
              }}
              title={text}
            >
              {(row.is_this || name.length * letterShare < share) && name}
            </span>
          );
        })}
      </div>
      <p class="ms-quiet">Widths show order and rough size, not the exact scale.</p>
    </section>
  );
}

type SameRow = Allocation["same_stack"]["rows"][number];

const sameColumns: Column<SameRow>[] = [
  countColumn("alloc_seq", "from", (row) => row.alloc_seq, "30%"),
  {
    id: "free_seq",
    title: "to",
    width: "30%",
    number: true,
    value: (row) => row.free_seq,
    cell: (row) => (row.free_seq === null ? "end" : formatCount(row.free_seq)),
  },
  countColumn("step", "step", (row) => row.step, "48px"),
  bytesColumn("size_bytes", "size", (row) => row.size_bytes, "76px"),
];

function SameStack({ fact }: { fact: Allocation }) {
  const app = useApp();
  const { count, bytes, rows } = fact.same_stack;
  if (count < 2) return null;
  return (
    <section class="ms-panel">
      <div class="ms-panel__head">
        <h3>Same stack</h3>
        <span class="ms-quiet">
          {formatCount(count)} {plural(count, "allocation")}, {formatBytes(bytes)} in turn
        </span>
      </div>
      <DataTable
        caption="Allocations from the same stack"
        copies
        columns={sameColumns}
        rows={rows}
        rowKey={(row) => row.row}
        maxHeight="240px"
        selected={(row) => row.row === fact.row}
        onSelect={(row) => {
          app.pinnedRow.value = row.row;
          if (row.alloc_seq !== null) app.setCursor(row.alloc_seq);
        }}
      />
      {rows.length < count && <p class="ms-quiet">The first {formatCount(rows.length)} are listed.</p>}
    </section>
  );
}
