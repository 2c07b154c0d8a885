/** Breakdown: who holds memory at the peak, at the cursor, or was allocated or survived in a range. Flame graph and table. */

import { useEffect, useState } from "preact/hooks";
import { categoryFill } from "../../base/palette.ts";
import { plural } from "../../base/text.ts";
import { formatBytes, formatCount, formatExactBytes, formatShare } from "../../base/units.ts";
import { categoryNames, categoryParts } from "../../data/category_text.ts";
import type { Frame } from "../../data/frame.ts";
import { stackText } from "../../data/stack_frames.ts";
import type { Group, Holder, Holders } from "../../data/types.ts";
import { groupFills } from "../../gfx/draw_stack.ts";
import { readGroups } from "../../gfx/stack_model.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useFrame, useJson } from "../../state/context.ts";
import { bytesColumn, mainBytesColumn, monoColumn } from "../../widgets/columns.tsx";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, filledColumns, ShareBar, tableText } from "../../widgets/data_table.tsx";
import { GroupNames } from "../../widgets/group_names.tsx";
import { MiddleCut } from "../../widgets/middle_cut.tsx";
import { NamedSwatch } from "../../widgets/named_swatch.tsx";
import { ErrorNotice, LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { needHeap, type View } from "../view.ts";
import { FlameGraph } from "./flame_graph.tsx";
import "./style.css";

type Of = "peak" | "seq" | "allocated" | "surviving";
type By = "stack" | "function" | "file" | "module" | "shape" | "category";
const rowLimit = 2000;
const filterWaitMs = 200;

interface Selection {
  of: Of;
  by: By;
  root: "caller" | "callee";
  parameters: Record<string, string | number>;
  title: string;
}

/** What the controls ask for, as parameters of the questions and as words. */
function selectionOf(app: AppState): Selection {
  const of = app.option("breakdown.of", "peak") as Of;
  const by = app.option("breakdown.by", "stack") as By;
  const root = app.option("breakdown.root", "caller") as "caller" | "callee";
  const heap = app.heap.value;
  const { begin, end } = rangeOf(app);
  const isRange = of === "allocated" || of === "surviving";
  const place: Record<string, number> = isRange ? { begin, end } : of === "seq" ? { seq: app.cursorSeq.value } : {};
  const range = `${formatCount(begin)} to ${formatCount(end)}`;
  const titles: Record<Of, string> = {
    peak: `live at the peak, event ${formatCount(heap.peak_live_seq)}`,
    seq: `live at event ${formatCount(app.cursorSeq.value)}`,
    allocated: `allocated in events ${range}`,
    surviving: `allocated in events ${range} and still live at their end`,
  };
  return { of, by, root, parameters: { heap: heap.index, of, ...place }, title: titles[of] };
}

/** The measured range, else the window of the timeline. */
function rangeOf(app: AppState): { begin: number; end: number } {
  const measured = app.measured.value;
  if (measured) return measured;
  if (app.axis.value === "time") return { begin: 0, end: app.heap.value.range_end };
  return { begin: Math.floor(app.window.value.begin), end: Math.ceil(app.window.value.end) };
}

function Breakdown() {
  const app = useApp();
  const selection = selectionOf(app);
  const hasStacks = app.heap.value.has.includes("stacks");
  const hasShapes = app.heap.value.has.includes("shapes");
  const flame = useFrame("flame", {
    ...selection.parameters,
    by: selection.by,
    root: selection.root,
    max_nodes: 5000,
  });
  const groups = flame.value ? groupsOf(flame.value) : [];
  const fills = groupFills({ groups }, app.theme.value, "category");
  return (
    <>
      <div class="ms-viewbar">
        <h1>Breakdown</h1>
        <Controls hasStacks={hasStacks} hasShapes={hasShapes} selection={selection} />
      </div>
      <div class="ms-subbar ms-breakdown__legend">
        <GroupNames groups={groups} fills={fills} />
        <span class="ms-subbar__hint">width = bytes · click zooms, backspace returns</span>
      </div>
      {flame.error ? (
        <ErrorNotice error={flame.error} />
      ) : flame.value ? (
        <div class="ms-breakdown__flame">
          <FlameGraph frame={flame.value} title={selection.title} />
        </div>
      ) : (
        <LoadingNotice what="Adding up the stacks." />
      )}
      <HolderTable selection={selection} />
    </>
  );
}

/** The groups that the graph shows. */
function groupsOf(frame: Frame): Group[] {
  const shown = new Set<number>(frame.table("nodes").numbers("group") as Iterable<number>);
  return readGroups(frame).filter((group) => shown.has(group.id));
}

interface ControlsProps {
  hasStacks: boolean;
  hasShapes: boolean;
  selection: Selection;
}

function Controls({ hasStacks, hasShapes, selection }: ControlsProps) {
  const app = useApp();
  const unmet = hasStacks ? undefined : "This file has no stacks.";
  return (
    <>
      <Segmented
        label="Of"
        value={selection.of}
        onChange={(of) => app.setOption("breakdown.of", of, "peak")}
        choices={[
          { value: "peak", label: "peak" },
          { value: "seq", label: "cursor" },
          { value: "allocated", label: "allocated in range" },
          { value: "surviving", label: "surviving range" },
        ]}
      />
      <Segmented
        label="By"
        value={selection.by}
        onChange={(by) => app.setOption("breakdown.by", by, "stack")}
        choices={[
          { value: "stack", label: "stack", unmet },
          { value: "function", label: "function", unmet },
          { value: "file", label: "file", unmet },
          { value: "module", label: "module", unmet },
          { value: "shape", label: "type and shape", unmet: hasShapes ? undefined : "This file names no shapes." },
          { value: "category", label: "category" },
        ]}
      />
      <Segmented
        label="Roots"
        value={selection.root}
        onChange={(root) => app.setOption("breakdown.root", root, "caller")}
        choices={[
          { value: "caller", label: "caller first" },
          { value: "callee", label: "callee first" },
        ]}
      />
    </>
  );
}

/** The text of the filter, kept in the address once the typing rests. */
function useFilter(): [text: string, search: string, setText: (text: string) => void] {
  const app = useApp();
  const search = app.option("breakdown.search", "");
  const [text, setText] = useState(search);
  useEffect(() => {
    const timer = setTimeout(() => app.setOption("breakdown.search", text), filterWaitMs);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, search, setText];
}

function HolderTable({ selection }: { selection: Selection }) {
  const app = useApp();
  const [text, search, setText] = useFilter();
  const question = { ...selection.parameters, by: selection.by, search, limit: rowLimit, offset: 0 };
  const { value, error } = useJson<Holders>("holders", question);
  if (error) return <ErrorNotice error={error} />;
  if (!value) return <LoadingNotice what="Adding up the holders." />;
  const columns = holderColumns(app, value);
  const shown = value.matched_bytes / Math.max(1, value.total_bytes);
  return (
    <section class="ms-breakdown__table">
      <div class="ms-breakdown__tools">
        <h2>Holders</h2>
        <input
          class="ms-input"
          type="text"
          aria-label="Filter rows"
          placeholder="Filter rows"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="ms-quiet">
          {formatCount(value.rows.length)} of {formatCount(value.row_count)} shown, {formatShare(shown)} of the bytes
        </span>
        <span class="ms-breakdown__copy">
          <CopyButton plain label="Copy as TSV" text={() => tableText(columns, value.rows)} />
        </span>
      </div>
      {value.rows.length === 0 ? (
        <Notice title={search ? "No row matches the filter." : "Nothing was live here."} />
      ) : (
        <HolderRows selection={selection} holders={value} columns={columns} />
      )}
    </section>
  );
}

interface HolderRowsProps {
  selection: Selection;
  holders: Holders;
  columns: readonly Column<Holder>[];
}

/** Rows by stack can be pinned: their largest block stands for them. */
function HolderRows({ selection, holders, columns }: HolderRowsProps) {
  const app = useApp();
  const pinning = {
    selected: (row: Holder) => row.example !== null && row.example === app.pinnedRow.value,
    onSelect: (row: Holder) => {
      app.pinnedRow.value = row.example;
    },
  };
  return (
    <DataTable
      caption={`Holders, ${selection.title}`}
      columns={columns}
      rows={holders.rows}
      rowKey={(row) => row.key}
      initialSort="bytes"
      maxHeight="none"
      {...(selection.by === "stack" ? pinning : {})}
      total={{
        block_count: formatCount(holders.total_block_count),
        bytes: formatBytes(holders.total_bytes),
        share: formatExactBytes(holders.total_bytes),
      }}
    />
  );
}

function holderColumns(app: AppState, holders: Holders): Column<Holder>[] {
  const theme = app.themeName.value;
  const largest = Math.max(1, holders.rows[0]?.bytes ?? 1);
  const fill = (row: Holder) => categoryFill(theme, row.category).fill;
  const tip = (row: Holder) => stackText(row.stack) || "no frames recorded";
  const places: Column<Holder>[] =
    holders.by === "stack"
      ? filledColumns(
          [
            {
              id: "where",
              title: "where",
              value: (row) => row.where,
              cell: (row) => (
                <span class="ms-mono ms-quiet">
                  <MiddleCut text={row.where || (row.stack_id === null ? "no Python frame" : "–")} />
                </span>
              ),
              tip,
            },
            { ...monoColumn<Holder>("shape", "type and shape", (row) => row.shape, "170px"), givesWay: 2 },
            {
              id: "since",
              title: "since",
              width: "112px",
              givesWay: 3,
              value: (row) => row.since,
              cell: (row) => row.since ?? "–",
            },
          ],
          holders.rows,
        )
      : [];
  return [
    {
      id: "label",
      title: holders.by === "stack" ? "allocated in" : holders.by === "shape" ? "type and shape" : holders.by,
      ...(holders.by === "stack" ? { width: "26%" } : {}),
      value: (row) => row.label,
      cell: (row) => <NamedSwatch fill={categoryFill(theme, row.category)} name={row.label} />,
      tip,
    },
    ...places,
    {
      id: "category",
      title: "category",
      width: "124px",
      value: (row) => categoryNames(row.categories),
      tip: (row) => categoryParts(row.categories),
    },
    {
      id: "block_count",
      title: "blocks",
      width: "60px",
      givesWay: 1,
      number: true,
      value: (row) => row.block_count,
      cell: (row) => formatCount(row.block_count),
      tip: (row) =>
        row.block_count === null
          ? "The profile tells what was there before it by its bytes alone."
          : `${formatCount(row.block_count)} ${plural(row.block_count, "block")}, mean ${formatBytes(row.bytes / Math.max(1, row.block_count))}`,
    },
    { ...bytesColumn<Holder>("largest_bytes", "largest", (row) => row.largest_bytes, "76px"), givesWay: 4 },
    mainBytesColumn("bytes", "bytes", (row) => row.bytes, "76px"),
    {
      id: "share",
      title: "share",
      width: "154px",
      givesWay: 5,
      value: (row) => row.bytes / Math.max(1, holders.total_bytes),
      cell: (row) => (
        <ShareBar
          share={row.bytes / largest}
          text={formatShare(row.bytes / Math.max(1, holders.total_bytes))}
          colour={fill(row)}
        />
      ),
    },
  ];
}

export const breakdownView: View = {
  id: "breakdown",
  title: "Breakdown",
  group: "run",
  icon: "M1.500 2.500h13v3h-13ZM1.500 7h8v3h-8ZM1.500 11.500h5v2.500h-5Z",
  unmet: needHeap,
  followsRun: true,
  component: Breakdown,
};
