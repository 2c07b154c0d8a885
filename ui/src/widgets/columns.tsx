/** Columns that many tables share: bytes with the exact number on hover, counts, monospaced text. */
import { formatBytes, formatCount, formatExactBytes } from "../base/units.ts";
import type { Column } from "./data_table.tsx";

type Value<Row> = (row: Row) => number | null;

export function bytesColumn<Row>(id: string, title: string, value: Value<Row>, width = "90px"): Column<Row> {
  return {
    id,
    title,
    width,
    number: true,
    value,
    cell: (row) => formatBytes(value(row)),
    tip: (row) => formatExactBytes(value(row)),
  };
}

/** The bytes that a table is about. */
export function mainBytesColumn<Row>(id: string, title: string, value: Value<Row>, width = "90px"): Column<Row> {
  return { ...bytesColumn(id, title, value, width), cell: (row) => <strong>{formatBytes(value(row))}</strong> };
}

export function countColumn<Row>(id: string, title: string, value: Value<Row>, width = "90px"): Column<Row> {
  return { id, title, width, number: true, value, cell: (row) => formatCount(value(row)) };
}

/** Places, shapes, names of programs; the whole text on hover. */
export function monoColumn<Row>(
  id: string,
  title: string,
  value: (row: Row) => string | null,
  width?: string,
): Column<Row> {
  return {
    id,
    title,
    ...(width ? { width } : {}),
    value,
    cell: (row) => <span class="ms-mono">{value(row) || "–"}</span>,
    tip: (row) => value(row) ?? "",
  };
}
