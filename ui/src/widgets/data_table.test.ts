import { expect, it } from "vitest";
import { type Column, filledColumns, fittingColumns, tableText } from "./data_table.tsx";

interface Row {
  name: string;
  where: string;
  region: string | null;
}
const columns: Column<Row>[] = [
  { id: "name", title: "name", value: (row) => row.name },
  { id: "where", title: "where", value: (row) => row.where },
  { id: "region", title: "region", value: (row) => row.region },
];

it("drops the columns that are empty from top to bottom", () => {
  const rows = [
    { name: "a", where: "", region: null },
    { name: "b", where: "x.py:1", region: null },
  ];
  expect(filledColumns(columns, rows).map((column) => column.id)).toEqual(["name", "where"]);
  expect(tableText(filledColumns(columns, rows), rows)).toBe("name\twhere\na\t\nb\tx.py:1");
  // A table without rows still says what it would hold.
  expect(filledColumns(columns, [])).toHaveLength(3);
});

it("leaves out what gives way first where it is narrow, and never the rest", () => {
  const some: Column<Row>[] = [
    { id: "name", title: "name", width: "25%", value: (row) => row.name },
    { id: "where", title: "where", leastWidth: 200, value: (row) => row.where },
    { id: "blocks", title: "blocks", width: "60px", number: true, givesWay: 1, value: () => 1 },
    { id: "bytes", title: "bytes", number: true, value: () => 1 },
    { id: "share", title: "share", width: "154px", givesWay: 2, value: () => 1 },
  ];
  const idsAt = (width: number) => fittingColumns(some, width).shown.map((column) => column.id);
  expect(idsAt(600)).toEqual(["name", "where", "blocks", "bytes", "share"]);
  expect(idsAt(599)).toEqual(["name", "where", "blocks", "bytes"]);
  expect(idsAt(445)).toEqual(["name", "where", "bytes"]);
  // Then the table scrolls.
  expect(idsAt(100)).toEqual(["name", "where", "bytes"]);
  expect(fittingColumns(some, 100).leastWidth).toBe(386);
  expect(idsAt(0)).toHaveLength(5);
});
