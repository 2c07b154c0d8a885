/** A plan: whether it fits, a stacked bar for each device, the terms of the fullest one, what to change, and the recording beside it. */
import { categoryFill, categoryLabel } from "../../base/palette.ts";
import { formatBytes, formatCount, formatShare } from "../../base/units.ts";
import type { Plan, PlanAnswer, PlanDevice, PlanLine, PlanPlace, PlanTerm } from "../../data/plan_types.ts";
import { useApp } from "../../state/context.ts";
import { bytesColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { Swatch } from "../../widgets/swatch.tsx";
import { barScale, differenceText, formulaText, fullestDevice, termCategory, termTitle } from "./model.ts";

/** It is tight where the plan fits and its high figure does not. */
function Verdict({ plan }: { plan: Plan }) {
  const tone = plan.fits === null ? null : !plan.fits ? "no" : plan.fits_at_high === false ? "tight" : "yes";
  const marks = { yes: "✓ ", tight: "◐ ", no: "✕ " };
  return (
    <p class={`ms-plan__verdict ${tone ? `ms-plan__verdict--${tone}` : ""}`}>
      <span aria-hidden="true">{tone && marks[tone]}</span>
      {plan.verdict || "No card is given, so nothing is judged."}
    </p>
  );
}

function DeviceBar({ device, plan, scale }: { device: PlanDevice; plan: Plan; scale: number }) {
  const theme = useApp().theme.value;
  const share = (bytes: number) => `${(100 * bytes) / scale}%`;
  const name = plan.devices.length > 1 ? `Device of stage ${device.stage}` : "Device";
  return (
    <figure class="ms-plan__device">
      <figcaption>
        <strong>
          {name}: {formatBytes(device.total_bytes)}
        </strong>{" "}
        <span class="ms-quiet">
          from {formatBytes(device.low_bytes)} to {formatBytes(device.high_bytes)}
          {device.peak_phase && `, highest in ${device.peak_phase}`}
        </span>
        {plan.target && (
          <span class="ms-plan__card">
            {plan.target.name}: {formatBytes(plan.target.usable_bytes)} usable
          </span>
        )}
      </figcaption>
      <div
        class="ms-plan__bar"
        role="img"
        aria-label={`${name}: ${device.lines.map((line) => `${termTitle(line.term)} ${formatBytes(line.bytes)}`).join(", ")}`}
      >
        {device.lines.map((line) => {
          const { fill, text } = categoryFill(theme.name, termCategory(line.term));
          return (
            <div
              key={line.term}
              class="ms-plan__part"
              style={{ width: share(line.bytes), background: fill, color: text }}
              title={`${termTitle(line.term)}: ${formatBytes(line.bytes)}`}
            >
              {line.bytes / scale > 0.05 && <span class="ms-plan__name">{termTitle(line.term)}</span>}
            </div>
          );
        })}
        {plan.target && <div class="ms-plan__capacity" style={{ left: share(plan.target.usable_bytes) }} />}
        <div
          class="ms-plan__range"
          style={{ left: share(device.low_bytes), width: share(device.high_bytes - device.low_bytes) }}
          title={`from ${formatBytes(device.low_bytes)} to ${formatBytes(device.high_bytes)}`}
        />
      </div>
    </figure>
  );
}

function lineColumns({ total_bytes: total }: PlanPlace, theme: "light" | "dark"): Column<PlanLine>[] {
  return [
    {
      id: "term",
      title: "term",
      value: (row) => row.term,
      cell: (row) => (
        <>
          <Swatch fill={categoryFill(theme, termCategory(row.term))} /> {termTitle(row.term)}
        </>
      ),
      tip: (row) => formulaText(row.how),
    },
    mainBytesColumn("bytes", "bytes", (row) => row.bytes),
    bytesColumn("low_bytes", "at least", (row) => row.low_bytes),
    bytesColumn("high_bytes", "at most", (row) => row.high_bytes),
    ...(total === undefined
      ? []
      : [
          {
            id: "share",
            title: "share",
            width: "80px",
            number: true,
            value: (row: PlanLine) => row.bytes / Math.max(1, total),
            cell: (row: PlanLine) => formatShare(row.bytes / Math.max(1, total)),
          },
        ]),
    { id: "kind", title: "kind", width: "70px", value: (row) => (row.persistent ? "stays" : "works") },
    {
      id: "how",
      title: "how",
      width: "38%",
      wraps: true,
      value: (row) => formulaText(row.how),
      tip: (row) => `${formulaText(row.how)} (${row.basis}: ${row.source})`,
    },
  ];
}

const termColumns: Column<PlanTerm>[] = [
  { id: "term", title: "term", value: (row) => row.term, cell: (row) => categoryLabel(row.term) },
  bytesColumn("planned_bytes", "planned", (row) => row.planned_bytes),
  bytesColumn("measured_bytes", "measured", (row) => row.measured_bytes),
  {
    id: "difference",
    title: "planned less measured",
    width: "190px",
    number: true,
    value: (row) =>
      row.planned_bytes === null || row.measured_bytes === null ? null : row.planned_bytes - row.measured_bytes,
    cell: differenceText,
  },
];

function Place({ title, place, theme }: { title: string; place: PlanPlace; theme: "light" | "dark" }) {
  if (place.lines.length === 0) return null;
  return (
    <>
      <h2>
        {title}
        {place.total_bytes !== undefined && `: ${formatBytes(place.total_bytes)}`}
      </h2>
      <DataTable
        caption={title}
        copies
        columns={lineColumns(place, theme)}
        rows={place.lines}
        rowKey={(row) => row.term}
      />
    </>
  );
}

function Texts({ title, texts }: { title: string; texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}

/** `Largest that fits: 12 samples of a step, 16,384 tokens.` */
function largestText({ largest }: Plan): string {
  const parts = [
    largest.batch === null ? "" : `${formatCount(largest.batch)} samples of a step`,
    largest.concurrency === null ? "" : `${formatCount(largest.concurrency)} sessions`,
    largest.sequence === null ? "" : `${formatCount(largest.sequence)} tokens`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `Largest that fits, each by itself: ${parts.join(", ")}.`;
}

export function PlanResult({ answer: { plan, filled, measured } }: { answer: PlanAnswer }) {
  const theme = useApp().theme.value;
  const scale = barScale(plan);
  const device = fullestDevice(plan);
  const told = Object.entries(filled).map(([input, value]) =>
    input === "card" ? `a card of ${formatBytes(Number(value))}` : `${input} ${value}`,
  );
  return (
    <>
      <Verdict plan={plan} />
      {told.length > 0 && <p class="ms-quiet">The recording tells: {told.join(", ")}.</p>}
      {plan.devices.map((one) => (
        <DeviceBar key={one.stage} device={one} plan={plan} scale={scale} />
      ))}
      <p>{largestText(plan)}</p>
      {device && (
        <DataTable
          caption="Terms of the fullest device"
          copies
          columns={lineColumns(device, theme.name)}
          rows={device.lines}
          rowKey={(row) => row.term}
        />
      )}
      <Place title="Host memory" place={plan.host} theme={theme.name} />
      <Place title="Storage" place={plan.storage} theme={theme.name} />
      <Texts title="What to change first" texts={plan.changes} />
      {measured && (
        <>
          <h2>Beside the recording</h2>
          <p class="ms-quiet">
            Peak of {measured.heap}. Meaningful when the inputs are those of the recorded run.
            {measured.lower_bound_reason && ` Measured bytes are a lower bound: ${measured.lower_bound_reason}`}
          </p>
          <DataTable
            caption="Planned and measured"
            copies
            columns={termColumns}
            rows={measured.terms}
            rowKey={(row) => row.term}
          />
        </>
      )}
      <Texts title="Not in the plan" texts={plan.left_out} />
    </>
  );
}
