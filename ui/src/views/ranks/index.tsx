/** Ranks: the recordings of one job on one scale, the worst one named, and what it holds that the others do not. */
import { categoryFill, categoryLabel, type Theme } from "../../base/palette.ts";
import { cutMiddle } from "../../base/text.ts";
import { formatByteChange, formatBytes, formatCount } from "../../base/units.ts";
import { nameInFile } from "../../data/heap_names.ts";
import type { Rank, Ranks } from "../../data/job_types.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { bytesColumn, countColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable, filledColumns } from "../../widgets/data_table.tsx";
import { useExport } from "../../widgets/export_scene.ts";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import type { View } from "../view.ts";
import { coordinateText, pageWords, rankName, rankParts, referenceName, shortSentence } from "./model.ts";
import "./style.css";

const barRow = 26;
/** More bars than this would not be told apart; the table has them all. */
const mostBars = 64;

function RanksView() {
  const { value, error } = useJson<Ranks>("ranks", {});
  return (
    <>
      <div class="ms-viewbar">
        <h1>Ranks</h1>
        {value && <span class="ms-quiet">{formatCount(value.ranks.length)} recordings of this session</span>}
      </div>
      {error && <ErrorNotice error={error} />}
      {!value && !error && <LoadingNotice what="Measuring every recording." />}
      {value && <RankStory ranks={value} />}
    </>
  );
}

function RankStory({ ranks }: { ranks: Ranks }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const shown = ranks.ranks.slice(0, mostBars);
  const theme = app.theme.value;
  const sentences = ranks.sentences.map((sentence) => shortSentence(sentence, ranks.ranks));
  const title = sentences[0] ?? "Live peaks by category";
  const height = shown.length * barRow + 8;
  const draw = (renderer: Renderer) => drawRanks(renderer, shown, theme, ranks.worst_index);
  useExport({ name: "ranks", title, width: 1600, height, background: theme.surface, draw });
  return (
    <div class="ms-ranks">
      <h2>{title}</h2>
      {sentences.slice(1).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <div class="ms-ranks__bars" ref={box} style={{ height: `${height}px` }}>
        <Canvas size={size} draw={draw} label={`${title} The table below has the same numbers.`} />
      </div>
      {shown.length < ranks.ranks.length && (
        <p class="ms-quiet">
          {formatCount(shown.length)} of {formatCount(ranks.ranks.length)} are drawn; the table has all.
        </p>
      )}
      {ranks.differences.length > 0 && (
        <>
          <h3>
            {ranks.ranks.length === 2
              ? "How the higher peak differs from the other"
              : "How the worst differs from the one in the middle"}
          </h3>
          <ul>
            {ranks.differences.map((difference) => (
              <li key={difference.text}>{pageWords(difference.text, ranks.ranks.length)}</li>
            ))}
          </ul>
        </>
      )}
      <h3>All recordings</h3>
      <DataTable
        caption="Recordings"
        copies
        columns={filledColumns(rankColumns(ranks), ranks.ranks)}
        rows={ranks.ranks}
        rowKey={(row) => `${row.file} ${row.heap}`}
        selected={(row) => row === ranks.ranks[ranks.worst_index]}
        onSelect={(row) => open(app, row)}
      />
    </div>
  );
}

function open(app: AppState, rank: Rank): void {
  const heap = app.session.peek().heaps.find((one) => one.id === rank.heap);
  if (!heap) return;
  app.selectHeap(heap.index);
  app.view.value = "timeline";
}

function rankColumns({ ranks, median_index }: Ranks): Column<Rank>[] {
  const medianBytes = ranks[median_index]?.peak_live_bytes ?? 0;
  return [
    {
      id: "rank",
      title: "recording",
      leastWidth: 150,
      value: rankName,
      cell: (row) => <strong>{rankName(row)}</strong>,
    },
    { id: "coordinates", title: "place in the layout", width: "160px", givesWay: 2, value: coordinateText },
    { id: "heap", title: "heap", width: "180px", givesWay: 5, value: (row) => nameInFile({ id: row.heap }, row.file) },
    mainBytesColumn("peak_live_bytes", "live peak", (row) => row.peak_live_bytes, "100px"),
    {
      id: "against_median_bytes",
      title: `against ${referenceName(ranks.length)}`,
      width: "130px",
      number: true,
      value: (row) => row.peak_live_bytes - medianBytes,
      cell: (row) => formatByteChange(row.peak_live_bytes - medianBytes),
    },
    {
      ...bytesColumn<Rank>("peak_reserved_bytes", "reserved peak", (row) => row.peak_reserved_bytes, "110px"),
      givesWay: 3,
    },
    { ...bytesColumn<Rank>("end_live_bytes", "at the end", (row) => row.end_live_bytes, "100px"), givesWay: 4 },
    { ...countColumn<Rank>("oom_count", "out of memory", (row) => row.oom_count, "110px"), givesWay: 1 },
  ];
}

const nameWidth = 190;
const nameLength = 28;
const bytesWidth = 90;

/** One bar per rank, its categories in the usual order, all on one scale. */
function drawRanks(renderer: Renderer, ranks: readonly Rank[], theme: Theme, worst: number): void {
  const largest = Math.max(1, ...ranks.map((rank) => rank.peak_live_bytes));
  const perByte = (renderer.width - nameWidth - bytesWidth) / largest;
  renderer.rect(0, 0, renderer.width, renderer.height, theme.surface);
  for (const [index, rank] of ranks.entries()) {
    const y = 4 + index * barRow;
    const bold = index === worst;
    renderer.text(cutMiddle(rankName(rank), nameLength), nameWidth - 10, y + 10, {
      fill: theme.ink,
      bold,
      align: "right",
    });
    let x = nameWidth;
    for (const { category, bytes } of rankParts(rank)) {
      const { fill, text } = categoryFill(theme.name, category);
      const width = bytes * perByte;
      renderer.rect(x, y, width, 20, fill);
      const label = categoryLabel(category);
      if (width > renderer.measure(label, {}) + 12) renderer.text(label, x + 6, y + 10, { fill: text });
      x += width;
    }
    renderer.outline(nameWidth + 0.5, y + 0.5, Math.max(1, x - nameWidth - 1), 19, { stroke: theme.ink3, width: 1 });
    renderer.text(formatBytes(rank.peak_live_bytes), x + 8, y + 10, { fill: theme.ink, bold });
  }
}

export const ranksView: View = {
  id: "ranks",
  title: "Ranks",
  group: "compare",
  icon: "M1.500 3h9M1.500 6.500h13M1.500 10h6M1.500 13.500h11",
  unmet: (app) => {
    const { sources, heaps } = app.session.value;
    const how = "Open the recordings of all ranks at once: memstrata open rank*.pickle, or the folder of a capture.";
    if (sources.length < 2)
      return { why: "There is one recording in this session; ranks are compared among several.", how };
    // The engine measures what lies on a device.
    if (heaps.some((heap) => heap.kind === "device")) return null;
    return { why: "These recordings hold no memory of a device; ranks are compared by it.", how };
  },
  followsRun: false,
  component: RanksView,
};
