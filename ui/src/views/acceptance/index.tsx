/** Acceptance: the verdict, each limit beside what was measured, the repeats, the checklist and the settings compared. */
import { formatBytes, formatDuration } from "../../base/units.ts";
import type { Acceptance, Check, Verdict } from "../../data/acceptance.ts";
import { useApp } from "../../state/context.ts";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import type { View } from "../view.ts";
import {
  amountText,
  barOf,
  checkTitle,
  figureText,
  integer,
  limitText,
  type RepeatRow,
  repeatRows,
  verdictSentence,
  verdictWords,
} from "./model.ts";
import { Sweep } from "./sweep.tsx";
import "./style.css";

const marks: Readonly<Record<Verdict, string>> = { pass: "✓", fail: "✕", undecided: "?" };
const checkWords: Readonly<Record<Verdict, string>> = { pass: "passed", fail: "failed", undecided: "undecided" };

function CheckItem({ check }: { check: Check }) {
  const bar = barOf(check);
  return (
    <li class="ms-acceptance__check">
      <strong class={`ms-acceptance--${check.verdict}`}>
        <span aria-hidden="true">{marks[check.verdict]} </span>
        {checkWords[check.verdict]}
      </strong>
      <strong>{checkTitle(check.name)}</strong>
      <div>
        {bar && (
          <div class="ms-acceptance__bar" aria-hidden="true">
            <div class="ms-acceptance__value" style={{ width: `${bar.value * 100}%` }} />
            <div class="ms-acceptance__limit" style={{ left: `${bar.limit * 100}%` }} />
          </div>
        )}
        {amountText(check.value, check.unit)} <span class="ms-quiet">{limitText(check)}</span>
      </div>
      <p>{check.text}</p>
    </li>
  );
}

const repeatColumns: Column<RepeatRow>[] = [
  { id: "repeat", title: "repeat", width: "80px", number: true, value: (row) => row.repeat },
  { id: "device", title: "device", value: (row) => row.device, tip: (row) => row.device },
  {
    id: "used",
    title: "on the device",
    width: "150px",
    number: true,
    value: (row) => integer(row.used.bytes),
    cell: (row) => figureText(row.used),
    tip: (row) => row.used.basis,
  },
  {
    id: "framework",
    title: "by the framework",
    width: "150px",
    number: true,
    value: (row) => integer(row.framework.bytes),
    cell: (row) => figureText(row.framework),
    tip: (row) => row.framework.basis,
  },
  {
    id: "host",
    title: "host",
    width: "150px",
    number: true,
    value: (row) => integer(row.host.bytes),
    cell: (row) => figureText(row.host),
    tip: (row) => row.host.basis,
  },
  {
    id: "iteration",
    title: "a call",
    width: "90px",
    number: true,
    value: (row) => row.iterationSeconds,
    cell: (row) => (row.iterationSeconds === null ? "unknown" : formatDuration(row.iterationSeconds * 1e9)),
  },
  { id: "note", title: "errors", width: "20%", value: (row) => row.note, tip: (row) => row.note },
];

function WhatRan({ identity }: { identity: Acceptance["identity"] }) {
  const parameters = Object.entries(identity.parameters).map(([name, value]) => `${name} ${value}`);
  const inputs = identity.inputs.map((input) => {
    const size = integer(input.size_bytes);
    return `${input.file} (${size === null ? "size unknown" : formatBytes(size)}, ${input.xxh128 ?? "hash unknown"})`;
  });
  const facts: [string, string[]][] = [
    ["command", identity.command.length > 0 ? [identity.command.join(" ")] : []],
    ["system", identity.system ? [identity.system] : []],
    ["frameworks", identity.frameworks],
    ["devices", identity.devices],
    ["parameters", parameters],
    ["inputs", inputs],
  ];
  return (
    <dl class="ms-acceptance__facts">
      {facts.map(([name, values]) => (
        <>
          <dt class="ms-quiet">{name}</dt>
          <dd>{values.length > 0 ? values.join(", ") : "not recorded"}</dd>
        </>
      ))}
    </dl>
  );
}

function AcceptanceView() {
  const acceptance = useApp().acceptance.value;
  if (acceptance === null) return null;
  const done = acceptance.checklist.filter((line) => line.done).length;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Acceptance{acceptance.name ? ` of ${acceptance.name}` : ""}</h1>
      </div>
      <div class="ms-textview">
        <section class="ms-textview__section">
          <p class={`ms-acceptance__verdict ms-acceptance--${acceptance.verdict}`}>
            <span aria-hidden="true">{marks[acceptance.verdict]}</span>
            {verdictWords[acceptance.verdict]}
          </p>
          <p>{verdictSentence(acceptance)}</p>
        </section>
        <section class="ms-textview__section">
          <h2>Limits and what was measured</h2>
          <ul class="ms-acceptance__checks">
            {acceptance.checks.map((check, index) => (
              <CheckItem key={`${index} ${check.name}`} check={check} />
            ))}
          </ul>
        </section>
        <section class="ms-textview__section">
          <h2>Repeats</h2>
          <DataTable
            caption="Repeats"
            copies
            columns={repeatColumns}
            rows={repeatRows(acceptance)}
            rowKey={(row) => row.key}
          />
        </section>
        {acceptance.sweep.length > 0 && <Sweep rows={acceptance.sweep} />}
        <section class="ms-textview__section">
          <h2>
            Checklist{" "}
            <span class="ms-quiet">
              {done} of {acceptance.checklist.length} done
            </span>
          </h2>
          <ul class="ms-acceptance__list">
            {acceptance.checklist.map((line) => (
              <li key={line.item}>
                <span
                  class={line.done ? "ms-acceptance--pass" : "ms-quiet"}
                  role="img"
                  aria-label={line.done ? "done" : "not done"}
                >
                  {line.done ? "✓" : "–"}
                </span>
                <span>{line.item}</span>
                <span class="ms-quiet">{line.text}</span>
              </li>
            ))}
          </ul>
        </section>
        <section class="ms-textview__section">
          <h2>What was run</h2>
          <WhatRan identity={acceptance.identity} />
        </section>
      </div>
    </>
  );
}

export const acceptanceView: View = {
  id: "acceptance",
  title: "Acceptance",
  group: "compare",
  icon: "M2.500 2.500h11v11h-11ZM5 8l2.200 2.200L11 6",
  unmet: (app) =>
    app.acceptance.value === null
      ? {
          why: "What was opened does not belong to an acceptance.",
          how: "Write a specification, run `memstrata accept acceptance.toml` and open the folder `acceptance`.",
        }
      : null,
  followsRun: false,
  component: AcceptanceView,
};
