/** A table that sorts, copies itself as TSV, totals, leaves out columns where it is narrow, and draws only the rows that can be seen. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { toTsv } from "../base/text.ts";
import { CopyButton } from "./copy_button.tsx";
import { useSize } from "./picture.tsx";

export interface Column<Row> {
  id: string;
  title: string;
  /** CSS width; columns without one share the rest. */
  width?: string;
  /** Of a column without a width in pixels: how narrow it may become, in pixels. */
  leastWidth?: number;
  /** Set for columns that a narrow table leaves out, the highest first. */
  givesWay?: number;
  number?: boolean;
  /** The text goes over several lines where it does not fit: for sentences. */
  wraps?: boolean;
  /** What is sorted and copied: exact, without a unit. */
  value: (row: Row) => string | number | null;
  cell?: (row: Row) => ComponentChildren;
  tip?: (row: Row) => string;
}

export interface DataTableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  initialSort?: string;
  /** Rows that stand for all others come last, however the table is sorted. */
  isRest?: (row: Row) => boolean;
  /** Offers the rows as TSV above the table; for tables whose view has no place of its own for that. */
  copies?: boolean;
  /** What the last row says, by the id of a column. */
  total?: Readonly<Record<string, ComponentChildren>>;
  selected?: (row: Row) => boolean;
  onSelect?: (row: Row) => void;
  /** CSS height of the scrolling part; without it the table is as high as its rows. */
  maxHeight?: string;
}

interface Sort {
  id: string;
  falling: boolean;
}

const rowHeight = 24;
const overscan = 12;

function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
}

/** The columns in which some row has a value: one that is empty from top to bottom tells nothing. */
export function filledColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Column<Row>[] {
  const isFilled = ({ value }: Column<Row>) => rows.some((row) => value(row) !== null && value(row) !== "");
  return rows.length === 0 ? [...columns] : columns.filter(isFilled);
}

/** In a table below this width names go over several lines, in pixels. */
const narrowWidth = 560;
const leastTextWidth = 110;
const leastNumberWidth = 76;

function leastWidthOf<Row>({ width, leastWidth, number }: Column<Row>): number {
  const pixels = /^(\d+)px$/.exec(width ?? "")?.[1];
  return pixels ? Number(pixels) : (leastWidth ?? (number ? leastNumberWidth : leastTextWidth));
}

/** In a table that is wider than its box all columns are as narrow as they may be. */
function columnStyle<Row>(column: Column<Row>, isWider: boolean): { width?: string } {
  if (isWider) return { width: `${leastWidthOf(column)}px` };
  return column.width ? { width: column.width } : {};
}

/** The columns that a table of this width has room for, and the least width of them; 0 = a width that is not known yet. */
export function fittingColumns<Row>(
  columns: readonly Column<Row>[],
  width: number,
): { shown: readonly Column<Row>[]; leastWidth: number } {
  const sum = (some: readonly Column<Row>[]) => some.reduce((total, column) => total + leastWidthOf(column), 0);
  let shown = columns;
  const leavers = columns.filter((column) => column.givesWay !== undefined);
  leavers.sort((a, b) => b.givesWay! - a.givesWay!);
  for (const leaver of leavers) {
    if (width === 0 || sum(shown) <= width) break;
    shown = shown.filter((column) => column !== leaver);
  }
  return { shown, leastWidth: sum(shown) };
}

export function tableText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return toTsv([columns.map((column) => column.id), ...rows.map((row) => columns.map((column) => column.value(row)))]);
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { columns, rows, rowKey } = props;
  const [sort, setSort] = useState<Sort | null>(props.initialSort ? { id: props.initialSort, falling: true } : null);
  const sorted = useMemo(() => {
    const column = sort && columns.find((candidate) => candidate.id === sort.id);
    if (!sort || !column) return rows;
    const sign = sort.falling ? -1 : 1;
    const last = (row: Row) => (props.isRest?.(row) ? 1 : 0);
    return [...rows].sort((a, b) => last(a) - last(b) || sign * compare(column.value(a), column.value(b)));
  }, [rows, sort, columns]);
  const [box, size] = useSize<HTMLElement>();
  const { shown, leastWidth } = fittingColumns(columns, size.width);
  const isWider = size.width > 0 && leastWidth > size.width;
  const [scrollTop, setScrollTop] = useState(0);
  const windowed = props.maxHeight !== undefined && sorted.length > 60;
  const visibleRows = windowed
    ? Math.ceil((box.current?.clientHeight ?? 600) / rowHeight) + 2 * overscan
    : sorted.length;
  const first = windowed ? Math.max(0, Math.floor(scrollTop / rowHeight) - overscan) : 0;
  const last = Math.min(sorted.length, first + visibleRows);
  const sortBy = (column: Column<Row>) =>
    setSort((old) => ({ id: column.id, falling: old?.id === column.id ? !old.falling : column.number === true }));
  const table = (
    <section
      class={[
        "ms-table",
        props.maxHeight && "ms-table--scrolls",
        isWider && "ms-table--wide",
        // Rows of which only some are drawn are all of one height.
        !windowed && size.width > 0 && size.width < narrowWidth && "ms-table--narrow",
      ]
        .filter(Boolean)
        .join(" ")}
      ref={box}
      style={props.maxHeight ? { maxHeight: props.maxHeight, overflowY: "auto" } : {}}
      onScroll={(event) => windowed && setScrollTop(event.currentTarget.scrollTop)}
      aria-label={props.caption}
      // A scrolling region must be reachable by keyboard.
      {...(props.maxHeight || isWider ? { tabIndex: 0 } : {})}
    >
      <table
        class="ms-table__table"
        aria-rowcount={sorted.length + 1}
        style={isWider ? { minWidth: `${leastWidth}px` } : {}}
      >
        <caption class="ms-hidden">{props.caption}</caption>
        <colgroup>
          {shown.map((column) => (
            <col key={column.id} style={columnStyle(column, isWider)} />
          ))}
        </colgroup>
        <TableHead columns={shown} sort={sort} onSort={sortBy} />
        <tbody>
          {first > 0 && <tr style={{ height: `${first * rowHeight}px` }} />}
          {sorted.slice(first, last).map((row) => (
            <TableRow key={rowKey(row)} row={row} columns={shown} props={props} />
          ))}
          {last < sorted.length && <tr style={{ height: `${(sorted.length - last) * rowHeight}px` }} />}
        </tbody>
        {props.total && <TotalRow columns={shown} total={props.total} />}
      </table>
    </section>
  );
  const leftOut = columns.filter((column) => !shown.includes(column)).map((column) => column.title);
  if (!props.copies && leftOut.length === 0) return table;
  return (
    <>
      {table}
      <p class="ms-table__copy">
        {leftOut.length > 0 && <span class="ms-quiet">No room for: {leftOut.join(", ")}. </span>}
        {props.copies && (
          <CopyButton plain label="Copy as TSV" about={props.caption} text={() => tableText(columns, sorted)} />
        )}
      </p>
    </>
  );
}

interface TotalRowProps<Row> {
  columns: readonly Column<Row>[];
  total: Readonly<Record<string, ComponentChildren>>;
}

function TotalRow<Row>({ columns, total }: TotalRowProps<Row>) {
  return (
    <tfoot>
      <tr>
        {columns.map((column, index) => (
          <td key={column.id} class={column.number ? "ms-table__number" : ""}>
            {total[column.id] ?? (index === 0 ? "total" : "")}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}

interface TableHeadProps<Row> {
  columns: readonly Column<Row>[];
  sort: Sort | null;
  onSort: (column: Column<Row>) => void;
}

function TableHead<Row>({ columns, sort, onSort }: TableHeadProps<Row>) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const on = sort?.id === column.id;
          return (
            <th
              key={column.id}
              scope="col"
              class={column.number ? "ms-table__number" : ""}
              aria-sort={on ? (sort.falling ? "descending" : "ascending") : "none"}
            >
              <button type="button" class="ms-table__sort" onClick={() => onSort(column)}>
                {column.title}
                {on && <span aria-hidden="true">{sort.falling ? " ▾" : " ▴"}</span>}
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function cellClass<Row>({ number, wraps }: Column<Row>): string {
  return number ? "ms-table__number" : wraps ? "ms-table__wrap" : "";
}

interface TableRowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  props: DataTableProps<Row>;
}

function TableRow<Row>({ row, columns, props }: TableRowProps<Row>) {
  const { onSelect } = props;
  const selected = props.selected?.(row) ?? false;
  return (
    <tr
      class={`${selected ? "ms-table__row--on" : ""} ${onSelect ? "ms-table__row--link" : ""}`}
      onClick={onSelect ? () => onSelect(row) : undefined}
    >
      {columns.map((column, index) => {
        const content = column.cell ? column.cell(row) : column.value(row);
        const tip = column.tip?.(row);
        const isLink = index === 0 && onSelect !== undefined;
        return (
          <td key={column.id} class={cellClass(column)} title={tip}>
            {isLink ? (
              <button
                type="button"
                class="ms-table__link"
                onClick={(event) => {
                  event.stopPropagation();
                  onSelect(row);
                }}
              >
                {content}
              </button>
            ) : (
              content
            )}
          </td>
        );
      })}
    </tr>
  );
}

/** A bar with the share beside it. */
export function ShareBar({ share, text, colour }: { share: number; text: string; colour: string }) {
  return (
    <span class="ms-sharebar">
      <span
        class="ms-sharebar__bar"
        style={{ width: `${Math.max(1, share * 96)}px`, backgroundColor: colour }}
        aria-hidden="true"
      />
      {text}
    </span>
  );
}
