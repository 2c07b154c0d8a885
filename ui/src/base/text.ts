/** Short forms of texts. */

/** Cuts in the middle: the ends of a path say most. */
export function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/** Cuts at a word. */
export function cutEnd(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > length / 2 ? cut.slice(0, space) : cut).replace(/[,;:.\s]+$/, "")}…`;
}

/** The last `parts` parts of a path. */
export function pathTail(path: string, parts = 2): string {
  return path.split(/[\\/]/).slice(-parts).join("/");
}

/** The last part of a path, of Unix or of Windows. */
export function fileName(path: string): string {
  return pathTail(path, 1);
}

/** With a capital at its begin. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** Rows as tab-separated text; tabs and line ends inside a cell become spaces. */
export function toTsv(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) => (value === null ? "" : String(value).replace(/[\t\r\n]+/g, " "));
  return rows.map((row) => row.map(cell).join("\t")).join("\n");
}
