/** Rectangles of a flame graph, from the nodes of a `flame` frame; pure. */
import { noneU32, type Table } from "../../data/frame.ts";

export interface FlameNode {
  index: number;
  parent: number | null;
  depth: number;
  bytes: number;
  selfBytes: number;
  blockCount: number;
  name: string;
  file: string;
  line: number;
  group: number;
  useful: boolean;
}

export interface FlameBox {
  /** Of a box that stands for children too narrow to be drawn: their sum under the index of their parent. */
  node: FlameNode;
  x: number;
  width: number;
  row: number;
}

export function readNodes(table: Table): FlameNode[] {
  const parent = table.numbers("parent");
  const depth = table.numbers("depth");
  const bytes = table.numbers("bytes");
  const selfBytes = table.numbers("self_bytes");
  const blockCount = table.numbers("block_count");
  const line = table.numbers("line");
  const group = table.numbers("group");
  const useful = table.numbers("useful");
  return Array.from({ length: table.rows }, (_, index) => ({
    index,
    parent: parent[index] === noneU32 ? null : parent[index]!,
    depth: depth[index]!,
    bytes: bytes[index]!,
    selfBytes: selfBytes[index]!,
    blockCount: blockCount[index]!,
    name: table.text("name", index),
    file: table.text("file", index),
    line: line[index]!,
    group: group[index]!,
    useful: useful[index] === 1,
  }));
}

/** The root to `index`, the root first. */
export function pathTo(nodes: readonly FlameNode[], index: number): number[] {
  const path: number[] = [];
  for (let at: number | null = index; at !== null; at = nodes[at]!.parent) path.unshift(at);
  return path;
}

/** One node for several siblings, in the colour of the first; null for none. */
function sumOf(siblings: readonly FlameNode[], parent: number): FlameNode | null {
  const [first] = siblings;
  if (!first) return null;
  const add = (value: (node: FlameNode) => number) => siblings.reduce((sum, node) => sum + value(node), 0);
  return {
    ...first,
    index: parent,
    parent,
    bytes: add((node) => node.bytes),
    selfBytes: add((node) => node.selfBytes),
    blockCount: add((node) => node.blockCount),
    name: `${siblings.length} smaller`,
    file: "",
    line: 0,
    useful: true,
  };
}

/**
 * Boxes of all nodes that are at least `smallest` pixels wide; narrower siblings are one box at their end, so that no bytes are missing.
 * With a focus, it fills the width and its ancestors lie over it in full width.
 * A node of plumbing that passes everything on to a single child is folded away: its child takes its row.
 */
export function layoutFlame(
  nodes: readonly FlameNode[],
  focus: number,
  width: number,
  smallest: number,
  fold: boolean,
): FlameBox[] {
  if (nodes.length === 0) return [];
  const children: number[][] = nodes.map(() => []);
  for (const node of nodes) if (node.parent !== null) children[node.parent]!.push(node.index);
  const boxes: FlameBox[] = [];
  const path = pathTo(nodes, focus);
  for (const [row, index] of path.slice(0, -1).entries()) boxes.push({ node: nodes[index]!, x: 0, width, row });
  const isFolded = (index: number) =>
    fold && index !== focus && !nodes[index]!.useful && children[index]!.length === 1 && nodes[index]!.selfBytes === 0;
  const place = (index: number, x: number, boxWidth: number, row: number) => {
    if (boxWidth < smallest) return;
    const own = isFolded(index) ? 0 : 1;
    if (own) boxes.push({ node: nodes[index]!, x, width: boxWidth, row });
    let next = x;
    const widthOf = (bytes: number) => (nodes[index]!.bytes > 0 ? (bytes / nodes[index]!.bytes) * boxWidth : 0);
    const narrow: FlameNode[] = [];
    for (const child of children[index]!) {
      const childWidth = widthOf(nodes[child]!.bytes);
      if (childWidth < smallest) narrow.push(nodes[child]!);
      else {
        place(child, next, childWidth, row + own);
        next += childWidth;
      }
    }
    const rest = sumOf(narrow, index);
    if (rest && widthOf(rest.bytes) >= smallest)
      boxes.push({ node: rest, x: next, width: widthOf(rest.bytes), row: row + own });
  };
  place(focus, 0, width, path.length - 1);
  return boxes;
}
