/** Who holds the peak: the largest stacks of a run, or the rows of an XLA profile; the rest in one row, so that all add up. */

import { categoryFill } from "../../base/palette.ts";
import { formatBytes, formatCount, formatExactBytes, formatShare } from "../../base/units.ts";
import { categoryNames, categoryParts } from "../../data/category_text.ts";
import type { Holders } from "../../data/types.ts";
import { useApp, useJson } from "../../state/context.ts";
import { countColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable, ShareBar } from "../../widgets/data_table.tsx";
import { MiddleCut } from "../../widgets/middle_cut.tsx";
import { NamedSwatch } from "../../widgets/named_swatch.tsx";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { type HolderRow, profileRows, stackRows } from "./model.ts";

/** The same question as Breakdown asks, so that one answer serves both. */
const question = { of: "peak", by: "stack", limit: 2000, offset: 0 };

export function StackHolders() {
  const heap = useApp().heapIndex.value;
  const { value, error } = useJson<Holders>("holders", { heap, ...question });
  if (error) return <ErrorNotice error={error} />;
  if (!value) return <LoadingNotice what="Adding up who holds the peak." />;
  return <HolderTable rows={stackRows(value)} totalBytes={value.total_bytes} totalBlocks={value.total_block_count} />;
}

export function ProfileHolders() {
  const summary = useApp().summaryHeap.value;
  if (!summary) return <LoadingNotice what="Adding up who holds the peak." />;
  const rows = profileRows(summary);
  const blocks = rows.reduce((sum, row) => sum + (row.blockCount ?? 0), 0);
  return (
    <HolderTable rows={rows} totalBytes={summary.peak.used?.bytes ?? summary.peak.live.bytes} totalBlocks={blocks} />
  );
}

interface HolderTableProps {
  rows: readonly HolderRow[];
  totalBytes: number;
  totalBlocks: number | null;
}

function HolderTable({ rows, totalBytes, totalBlocks }: HolderTableProps) {
  const app = useApp();
  return (
    <section class="ms-overview__holders">
      <div class="ms-panel__head">
        <h2>Who holds the peak</h2>
        <span class="ms-quiet">
          {formatCount(totalBlocks)} blocks, rows add up to {formatBytes(totalBytes)} ·{" "}
          <button
            type="button"
            class="ms-link"
            onClick={() => {
              app.view.value = "breakdown";
            }}
          >
            Open breakdown
          </button>
        </span>
      </div>
      <DataTable
        caption="Who holds the peak"
        copies
        columns={holderColumns(app.themeName.value, rows, totalBytes)}
        rows={rows}
        rowKey={(row) => row.key}
        isRest={(row) => row.isRest}
        total={{
          block_count: formatCount(totalBlocks),
          bytes: formatBytes(totalBytes),
          share: formatExactBytes(totalBytes),
        }}
      />
    </section>
  );
}

function holderColumns(theme: "light" | "dark", rows: readonly HolderRow[], totalBytes: number): Column<HolderRow>[] {
  const largest = rows.reduce((most, row) => Math.max(most, row.bytes), 1);
  const fill = (row: HolderRow) => categoryFill(theme, row.category);
  return [
    {
      id: "holder",
      title: "holder",
      // Operations of a model have long names and no place; stacks have both.
      width: rows.some((row) => row.category === "operation") ? "38%" : "25%",
      value: (row) => row.name,
      cell: (row) => <NamedSwatch fill={fill(row)} name={row.name} />,
      tip: (row) => row.tip,
    },
    {
      id: "where",
      title: "where",
      value: (row) => row.where,
      cell: (row) => (
        <span class="ms-quiet">
          <MiddleCut text={row.where} />
        </span>
      ),
      tip: (row) => row.tip,
    },
    {
      id: "category",
      title: "category",
      width: "124px",
      value: (row) => (row.isRest ? "" : categoryNames(row.categories)),
      tip: (row) => (row.isRest ? "" : categoryParts(row.categories)),
    },
    { ...countColumn<HolderRow>("block_count", "blocks", (row) => row.blockCount, "56px"), givesWay: 1 },
    mainBytesColumn("bytes", "bytes", (row) => row.bytes, "76px"),
    {
      id: "share",
      title: "share of the peak",
      width: "154px",
      givesWay: 2,
      value: (row) => row.bytes / Math.max(1, totalBytes),
      cell: (row) => (
        <ShareBar
          share={row.bytes / largest}
          text={formatShare(row.bytes / Math.max(1, totalBytes))}
          colour={fill(row).fill}
        />
      ),
    },
  ];
}
