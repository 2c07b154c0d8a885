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

/**
 * Boxes of all nodes that are at least `smallest` pixels wide. With a focus, it fills the width and its ancestors lie over it in full width.
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
    for (const child of children[index]!) {
      const childWidth = nodes[index]!.bytes > 0 ? (nodes[child]!.bytes / nodes[index]!.bytes) * boxWidth : 0;
      place(child, next, childWidth, row + own);
      next += childWidth;
    }
  };
  place(focus, 0, width, path.length - 1);
  return boxes;
}
