/** The settings of a sweep side by side: those that no other beats in everything carry a star. */
import { formatBytes, formatDuration, threeDigits, unknownText } from "../../base/units.ts";
import type { SweepRow } from "../../data/acceptance.ts";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { integer, sweepParameters, sweepPoints, verdictWords } from "./model.ts";

const plot = { width: 480, height: 180, left: 8, top: 12 };

function columnsOf(rows: readonly SweepRow[]): Column<SweepRow>[] {
  const number = (
    id: string,
    title: string,
    value: (row: SweepRow) => number | null,
    text: (of: number) => string,
  ) => ({
    id,
    title,
    width: "120px",
    number: true,
    value,
    cell: (row: SweepRow) => {
      const of = value(row);
      return of === null ? unknownText : text(of);
    },
  });
  return [
    {
      id: "pareto",
      title: "best",
      width: "60px",
      value: (row) => (row.pareto ? 1 : 0),
      cell: (row) =>
        row.pareto ? (
          <span role="img" aria-label="no other is better in everything">
            ★
          </span>
        ) : (
          ""
        ),
      tip: (row) => (row.pareto ? "No other is better in everything." : "Another is as good or better in everything."),
    },
    ...sweepParameters(rows).map((name) => ({
      id: name,
      title: name,
      value: (row: SweepRow) => String(row.parameters[name] ?? ""),
    })),
    { id: "verdict", title: "verdict", width: "120px", value: (row) => verdictWords[row.verdict] },
    {
      ...number("memory", "memory", (row) => integer(row.memory_bytes), formatBytes),
      tip: (row: SweepRow) => (row.memory_basis ? `peak of the ${row.memory_basis}` : "not measured"),
    },
    number(
      "latency",
      "latency",
      (row) => row.latency_s,
      (seconds) => formatDuration(seconds * 1e9),
    ),
    number(
      "throughput",
      "throughput",
      (row) => row.throughput_per_s,
      (rate) => `${threeDigits(rate)} /s`,
    ),
    number("quality", "quality", (row) => row.quality, threeDigits),
  ];
}

/** Memory to the right, latency upwards: what lies at the lower left needs least of both. */
function Scatter({ rows }: { rows: readonly SweepRow[] }) {
  const points = sweepPoints(rows, plot.width, plot.height);
  if (points.length < 2) return null;
  const { left, top, width, height } = plot;
  return (
    <svg
      class="ms-acceptance__sweep"
      viewBox={`0 0 ${left + width + 12} ${top + height + 24}`}
      role="img"
      aria-label="Memory against latency of each setting. The table has the same numbers."
    >
      <path d={`M${left} ${top}V${top + height}H${left + width}`} class="ms-acceptance__axis" />
      <text x={left + width} y={top + height + 18} text-anchor="end" class="ms-acceptance__word">
        memory →
      </text>
      <text x={left + 6} y={top + 4} class="ms-acceptance__word">
        ↑ latency
      </text>
      {points.map(({ x, y, row }, index) => (
        <circle
          key={index}
          cx={left + x}
          cy={top + y}
          r="5"
          class={row.pareto ? "ms-acceptance__dot ms-acceptance__dot--best" : "ms-acceptance__dot"}
        />
      ))}
    </svg>
  );
}

export function Sweep({ rows }: { rows: readonly SweepRow[] }) {
  return (
    <section class="ms-textview__section">
      <h2>Settings compared</h2>
      <p class="ms-quiet">A star marks those that no other beats in memory, latency, throughput and quality at once.</p>
      <Scatter rows={rows} />
      <DataTable
        caption="Settings compared"
        copies
        columns={columnsOf(rows)}
        rows={rows}
        rowKey={(row) => JSON.stringify(row.parameters)}
        selected={(row) => row.pareto}
      />
    </section>
  );
}
