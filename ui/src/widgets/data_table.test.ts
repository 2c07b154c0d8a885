import { expect, it } from "vitest";
import { type Column, filledColumns, tableText } from "./data_table.tsx";

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
