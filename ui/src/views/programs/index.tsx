/** Static programs: what the compiler planned. Bytes against program order, buffers by address, and every buffer in a table. */

import { useMemo, useState } from "preact/hooks";
import { categoryFill, categoryLabel } from "../../base/palette.ts";
import { formatBytes, formatCount, formatExactBytes } from "../../base/units.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useFrame } from "../../state/context.ts";
import { bytesColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, tableText } from "../../widgets/data_table.tsx";
import { useExport } from "../../widgets/export_scene.ts";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { Swatch } from "../../widgets/swatch.tsx";
import type { View } from "../view.ts";
import { type Chart, drawProgram, type ProgramScene } from "./draw_program.ts";
import {
  type BufferRow,
  donationText,
  largestProgram,
  largestSpace,
  liveText,
  type ProgramAttributes,
  programSentence,
  readBuffers,
} from "./model.ts";
import "./style.css";

function Programs() {
  const app = useApp();
  const { programs } = app.session.value;
  const first = String(largestProgram(programs));
  const index = Math.min(programs.length - 1, Number(app.option("programs.index", first)) || 0);
  const program = programs[index]!;
  const chosen = app.option("programs.space", "");
  const space = program.spaces.find((one) => String(one.id) === chosen) ?? largestSpace(program);
  const chart = app.option("programs.chart", "size") as Chart;
  const { value, error } = useFrame("program", space ? { index, space: space.id } : null);
  const buffers = useMemo(() => (value ? readBuffers(value) : []), [value]);
  return (
    <>
      <div class="ms-viewbar">
        <h1>Static programs</h1>
        <label class="ms-programs__pick">
          <span class="ms-quiet">Program</span>
          <select
            class="ms-select"
            value={String(index)}
            onChange={(event) => app.setOption("programs.index", event.currentTarget.value, first)}
          >
            {programs.map((one) => (
              <option key={one.index} value={String(one.index)}>
                {one.name} · {formatBytes(largestSpace(one)?.peak_bytes)}
              </option>
            ))}
          </select>
        </label>
        <Segmented
          label="Memory"
          value={String(space?.id ?? "")}
          onChange={(id) => app.setOption("programs.space", id)}
          choices={program.spaces.map((one) => ({ value: String(one.id), label: one.name }))}
        />
        <Segmented
          label="Chart"
          value={chart}
          onChange={(choice) => app.setOption("programs.chart", choice, "size")}
          choices={[
            { value: "size", label: "size" },
            {
              value: "address",
              label: "buffers by address",
              unmet: buffers.some((row) => row.offsetBytes !== null)
                ? undefined
                : "This file does not say at which offsets the buffers lie.",
            },
          ]}
        />
      </div>
      {error && <ErrorNotice error={error} />}
      {!value && !error && <LoadingNotice what="Reading the program." />}
      {value && (
        <ProgramBody
          attributes={value.attributes as unknown as ProgramAttributes}
          scene={{ frame: value, buffers, chart }}
        />
      )}
    </>
  );
}

interface BodyProps {
  attributes: ProgramAttributes;
  scene: Pick<ProgramScene, "frame" | "buffers" | "chart">;
}

function ProgramBody({ attributes, scene: parts }: BodyProps) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const [selected, setSelected] = useState<number | null>(null);
  const [onlyPeak, setOnlyPeak] = useState(true);
  const scene: ProgramScene = { ...parts, attributes, theme: app.theme.value, selected };
  const sentence = programSentence(attributes);
  useExport({
    name: "program",
    title: sentence,
    width: 1600,
    height: 700,
    background: scene.theme.surface,
    draw: (renderer) => drawProgram(renderer, scene),
  });
  const rows = onlyPeak ? parts.buffers.filter((row) => row.atPeak) : parts.buffers;
  const columns = bufferColumns(app, attributes.point_count);
  const totalBytes = rows.reduce((sum, row) => sum + row.sizeBytes, 0);
  return (
    <div class="ms-programs">
      <h2>{sentence}</h2>
      <p class="ms-quiet">{[sumText(attributes), donationText(parts.buffers)].filter(Boolean).join(" · ")}</p>
      <div class="ms-plot ms-programs__plot" ref={box}>
        <Canvas size={size} draw={(renderer) => drawProgram(renderer, scene)} label={sentence} />
      </div>
      <div class="ms-programs__tools">
        <Segmented
          label="Buffers"
          value={onlyPeak ? "peak" : "all"}
          onChange={(value) => setOnlyPeak(value === "peak")}
          choices={[
            { value: "peak", label: "at the peak" },
            { value: "all", label: "all" },
          ]}
        />
        <span class="ms-quiet">
          {formatCount(rows.length)} of {formatCount(parts.buffers.length)} buffers
        </span>
        <CopyButton plain label="Copy as TSV" text={() => tableText(columns, rows)} />
      </div>
      <DataTable
        caption="Buffers"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.index}
        initialSort="size_bytes"
        maxHeight="420px"
        selected={(row) => row.index === selected}
        onSelect={(row) => setSelected(row.index === selected ? null : row.index)}
        total={{ size_bytes: <span title={formatExactBytes(totalBytes)}>{formatBytes(totalBytes)}</span> }}
      />
    </div>
  );
}

function sumText(program: ProgramAttributes): string {
  const parts: [string, number | null][] = [
    ["allocated", program.allocated_bytes],
    ["arguments", program.argument_bytes],
    ["outputs", program.output_bytes],
    ["gaps between buffers", program.gap_bytes],
    ["padding of tiles", program.padding_bytes],
  ];
  return parts
    .filter(([, bytes]) => bytes !== null)
    .map(([name, bytes]) => `${name} ${formatBytes(bytes)}`)
    .join(" · ");
}

function bufferColumns(app: AppState, pointCount: number): Column<BufferRow>[] {
  const theme = app.themeName.value;
  return [
    {
      id: "name",
      title: "instruction",
      width: "22%",
      value: (row) => row.name,
      cell: (row) => (
        <>
          <Swatch fill={categoryFill(theme, row.category)} /> <strong>{row.name}</strong>
        </>
      ),
      tip: (row) => [row.name, row.source].filter(Boolean).join("\n"),
    },
    {
      id: "kind",
      title: "kind",
      width: "150px",
      value: (row) => (row.isDonated ? `${row.opcode || row.kind}, donated` : row.opcode || row.kind),
      tip: (row) =>
        `${row.kind}, ${categoryLabel(row.category)}${row.isDonated ? ". Donated: an output uses its memory." : ""}`,
    },
    {
      id: "op_name",
      title: "framework operation",
      value: (row) => row.opName,
      cell: (row) => <span class="ms-mono">{row.opName || "not recorded"}</span>,
      tip: (row) => row.opName,
    },
    {
      id: "shape",
      title: "shape and layout",
      width: "22%",
      value: (row) => row.shape,
      cell: (row) => <span class="ms-mono">{row.shape}</span>,
      tip: (row) => row.shape,
    },
    mainBytesColumn("size_bytes", "bytes", (row) => row.sizeBytes),
    bytesColumn("padding_bytes", "padding", (row) =>
      row.unpaddedBytes === null ? null : row.sizeBytes - row.unpaddedBytes,
    ),
    {
      id: "begin_point",
      title: "live",
      width: "110px",
      number: true,
      value: (row) => row.beginPoint,
      cell: (row) => liveText(row, pointCount),
    },
  ];
}

export const programsView: View = {
  id: "programs",
  title: "Static programs",
  group: "xla",
  icon: "M1.500 13.500h3v-4h3v-3.500h3V2.500h4v11Z",
  unmet: (app) =>
    app.session.value.programs.length > 0
      ? null
      : {
          why: "This session holds no compiled program.",
          how: "Open an .hlo_proto.pb file, or an .xplane.pb file that was recorded with the programs in it.",
        },
  followsRun: false,
  component: Programs,
};
