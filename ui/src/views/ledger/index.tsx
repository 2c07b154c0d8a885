/** Ledger of a measured run: what the device says beside what the framework holds, and a sum that adds up. */
import { categoryLabel } from "../../base/palette.ts";
import { formatBytes, formatDuration } from "../../base/units.ts";
import type { Balance, CurvePoint, DeviceLedger } from "../../data/ledger.ts";
import { useApp } from "../../state/context.ts";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import type { View } from "../view.ts";
import { plotOf, type Row, rowsOf } from "./model.ts";
import "./style.css";

const plotWidth = 1000;
const plotHeight = 160;

const columns: Column<Row>[] = [
  { id: "where", title: "where", value: (row) => row.where },
  { id: "process", title: "process", width: "140px", value: (row) => row.process },
  {
    id: "bytes",
    title: "memory",
    width: "120px",
    number: true,
    value: (row) => row.bytes,
    cell: (row) => (row.bytes === null ? "unknown" : formatBytes(row.bytes)),
    tip: (row) => row.note,
  },
  { id: "note", title: "why", value: (row) => row.note },
];

function Curves({ curve }: { curve: readonly CurvePoint[] }) {
  const plot = plotOf(curve, plotWidth, plotHeight);
  if (plot === null) return null;
  const text = `Highest ${formatBytes(plot.highestBytes)}, over ${formatDuration(plot.durationNs)}`;
  return (
    <figure>
      <svg
        class="ms-ledger__plot"
        viewBox={`0 0 ${plotWidth} ${plotHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Memory used on the device and reserved by the frameworks. ${text}`}
      >
        <polyline class="ms-ledger__used" points={plot.used} />
        <polyline class="ms-ledger__framework" points={plot.framework} />
      </svg>
      <figcaption class="ms-quiet">
        {text}
        <span class="ms-ledger__key ms-ledger__key--used" />
        used on the device
        <span class="ms-ledger__key ms-ledger__key--framework" />
        reserved by the frameworks
      </figcaption>
    </figure>
  );
}

function Sum({ balance, title, rest }: { balance: Balance; title: string; rest: string }) {
  return (
    <DataTable
      caption={`Ledger of ${title}`}
      columns={columns}
      rows={rowsOf(balance, rest, categoryLabel)}
      rowKey={(row) => row.key}
      total={{ process: "used", bytes: formatBytes(balance.used_bytes) }}
    />
  );
}

function Device({ device }: { device: DeviceLedger }) {
  const title = `${device.name ?? device.vendor} (device ${device.index})`;
  return (
    <section class="ms-textview__section">
      <h2>{title}</h2>
      <Curves curve={device.curve} />
      <Sum balance={device} title={title} rest="unexplained" />
    </section>
  );
}

function Ledger() {
  const ledger = useApp().ledger.value;
  if (ledger === null) return null;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Ledger</h1>
        <span class="ms-quiet">at the peak of each device; every sum adds up to the byte</span>
      </div>
      <div class="ms-textview">
        {ledger.devices.map((device) => (
          <Device key={device.index} device={device} />
        ))}
        {ledger.host && (
          <section class="ms-textview__section">
            <h2>Host</h2>
            <Sum balance={ledger.host} title="the host" rest="unexplained" />
          </section>
        )}
        <section class="ms-textview__section">
          <h2>Not known</h2>
          <ul>
            {ledger.missing.map((gap) => (
              <li key={gap.what}>
                <strong>{gap.what}</strong>: {gap.why} {gap.how_to_get}
              </li>
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

export const ledgerView: View = {
  id: "ledger",
  title: "Ledger",
  group: "compare",
  icon: "M3 2.500h10v11H3ZM5.500 5.500h5M5.500 8h5M5.500 10.500h3",
  unmet: (app) =>
    app.ledger.value === null
      ? {
          why: "What the device and the host held was not measured beside this recording.",
          how: "Record with `memstrata run -- PROGRAM` and open the folder that it leaves.",
        }
      : null,
  followsRun: false,
  component: Ledger,
};
