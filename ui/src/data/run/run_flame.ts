/** Who holds a selection of a run's blocks, as a tree of call paths: what the engine answers to `flame`. */
import { madeOnce } from "../../base/made_once.ts";
import { placeOfMost } from "../../base/ordered.ts";
import { type Frame, noneU32 } from "../frame.ts";
import type { Parameters } from "../source.ts";
import { type Columns, frameOf } from "./made_frame.ts";
import { select } from "./run_holders.ts";
import type { RunStore } from "./run_store.ts";

interface NodeText {
  name: string;
  function: string;
  file: string;
  line: number;
  useful: boolean;
}

interface Node {
  parent: number;
  depth: number;
  key: number;
  bytes: number;
  selfBytes: number;
  blockCount: number;
  groupBytes: Float64Array;
  /** noneU32: none or several. */
  stack: number;
  hasStack: boolean;
  isMerged: boolean;
  group: number;
}

/** Gives every frame, function, file, folder, shape or category a key, and keeps what to call it. */
class PathMaker {
  readonly texts: NodeText[] = [];
  private readonly keyOfText = new Map<string, number>();
  private readonly keyOfFrame = new Map<number, number>();

  constructor(
    private readonly run: RunStore,
    private readonly by: string,
    private readonly fromCallee: boolean,
  ) {}

  pathOf(index: number): number[] {
    const { run, by } = this;
    const head: number[] = [];
    const category = run.categoryOf(index);
    if (by === "category") head.push(this.key("category", plain(category)));
    if (by === "shape") {
      const shape = run.key("shape", run.keyOf("shape", index)).label;
      head.push(this.key("shape", plain(shape)));
    }
    const stack = run.stackOf(index);
    if (stack === 0) return [...head, this.key(category, plain(run.labelOf(index)))];
    const keepsFrames = by === "stack" || by === "category" || by === "shape";
    const path: number[] = [];
    for (const frame of run.frameRows(stack)) {
      const key = this.frameKey(frame);
      // Neighbouring frames of one function, file or folder are one box.
      if (keepsFrames || path.at(-1) !== key) path.push(key);
    }
    if (!this.fromCallee) path.reverse();
    return [...head, ...path];
  }

  /** Of a box that is no frame. */
  keyOf(name: string): number {
    return this.key(name, plain(name));
  }

  private frameKey(row: number): number {
    const kept = this.keyOfFrame.get(row);
    if (kept !== undefined) return kept;
    const table = this.run.table("frames");
    const [name, file] = [table.text("function", row), table.text("file", row)];
    const useful = this.run.frameColumn("useful")[row] === 1;
    const line = this.run.frameColumn("line")[row]!;
    const text = (shown: string, fields: Partial<NodeText>) => ({ ...plain(shown), file, useful, ...fields });
    const short = table.text("short_function", row);
    let key: number;
    if (this.by === "function") key = this.key(`${name}\n${file}`, text(short, { function: name }));
    else if (this.by === "file") key = this.key(file, text(table.text("short_file", row), {}));
    else if (this.by === "module") key = this.key(table.text("folder", row), text(table.text("folder", row), {}));
    else key = this.key(`${name}\n${file}\n${line}`, text(short, { function: name, line }));
    this.keyOfFrame.set(row, key);
    return key;
  }

  private key(identity: string, text: NodeText): number {
    const whole = `${text.name}\n${identity}`;
    const kept = this.keyOfText.get(whole);
    if (kept !== undefined) return kept;
    this.keyOfText.set(whole, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

function plain(name: string): NodeText {
  return { name, function: "", file: "", line: 0, useful: true };
}

class Tree {
  readonly nodes: Node[] = [];
  mergedCount = 0;
  private readonly children = new Map<number, number>();

  constructor(private readonly groupCount: number) {
    this.nodes.push(this.node(noneU32, 0, noneU32));
  }

  add(path: readonly number[], bytes: number, blockCount: number, group: number, stack: number): void {
    let at = 0;
    this.count(0, bytes, blockCount, group);
    for (const key of path) {
      at = this.child(at, key);
      this.count(at, bytes, blockCount, group);
    }
    const leaf = this.nodes[at]!;
    leaf.selfBytes += bytes;
    leaf.stack = !leaf.hasStack || leaf.stack === stack ? stack : noneU32;
    leaf.hasStack ||= stack !== noneU32;
  }

  /** The largest stay; a node is never larger than its parent and comes after it, so parents stay with their children. */
  finish(mostNodes: number): Node[] {
    for (const node of this.nodes) node.group = placeOfMost(node.groupBytes);
    const order = Array.from(this.nodes.keys()).sort((a, b) => this.nodes[b]!.bytes - this.nodes[a]!.bytes || a - b);
    const kept = Math.min(order.length, Math.max(1, mostNodes));
    const children = new Map<number, number[]>();
    const merged = new Map<number, Node>();
    for (let i = 1; i < order.length; i += 1) {
      const node = this.nodes[order[i]!]!;
      if (i < kept) {
        madeOnce(children, node.parent, (): number[] => []).push(order[i]!);
      } else this.merge(node, merged);
    }
    const queue = [0];
    const newIndex = new Map<number, number>();
    const result: Node[] = [];
    for (const index of queue) {
      const node = this.nodes[index]!;
      newIndex.set(index, result.length);
      result.push({ ...node, parent: newIndex.get(node.parent) ?? noneU32 });
      for (const child of children.get(index) ?? []) queue.push(child);
    }
    // Merged siblings come last: they are what is smaller, and parents stay before children.
    for (const parent of queue) {
      const sum = merged.get(parent);
      if (sum) result.push({ ...sum, parent: newIndex.get(parent)!, selfBytes: sum.bytes });
    }
    return result;
  }

  private merge(node: Node, merged: Map<number, Node>): void {
    this.mergedCount += 1;
    let sum = merged.get(node.parent);
    if (!sum) {
      sum = { ...this.node(node.parent, node.depth, noneU32), isMerged: true };
      merged.set(node.parent, sum);
      sum.group = node.group;
    } else if (node.bytes > sum.bytes) sum.group = node.group;
    sum.bytes += node.bytes;
    sum.blockCount += node.blockCount;
  }

  private node(parent: number, depth: number, key: number): Node {
    const groupBytes = new Float64Array(Math.max(1, this.groupCount));
    return {
      parent,
      depth,
      key,
      bytes: 0,
      selfBytes: 0,
      blockCount: 0,
      groupBytes,
      stack: noneU32,
      hasStack: false,
      isMerged: false,
      group: 0,
    };
  }
  private child(parent: number, key: number): number {
    const id = parent * 2 ** 24 + key;
    const kept = this.children.get(id);
    if (kept !== undefined) return kept;
    this.children.set(id, this.nodes.length);
    return this.nodes.push(this.node(parent, this.nodes[parent]!.depth + 1, key)) - 1;
  }
  private count(at: number, bytes: number, blockCount: number, group: number): void {
    const node = this.nodes[at]!;
    node.bytes += bytes;
    node.blockCount += blockCount;
    node.groupBytes[group]! += bytes;
  }
}

interface Weight {
  bytes: number;
  blockCount: number;
  example: number;
}

/** One path per stack, category and, where they matter, shape, not per block. */
function weigh(run: RunStore, by: string, indexes: readonly number[]): Weight[] {
  const weights = new Map<string, Weight>();
  for (const index of indexes) {
    const shape = by === "shape" ? run.keyOf("shape", index) : 0;
    const id = `${run.stackOf(index)} ${run.groupOf(index, "category")} ${run.isPreexisting(index)} ${shape}`;
    const weight = madeOnce(weights, id, () => ({ bytes: 0, blockCount: 0, example: index }));
    weight.bytes += run.sizeOf(index);
    weight.blockCount += 1;
  }
  return [...weights.values()];
}

/** What a selection holds besides the blocks that the file keeps. */
export interface Rest {
  name: string;
  /** Of the selection, kept blocks included. */
  totalBytes: number;
}

export function flame(run: RunStore, parameters: Parameters, rest?: Rest): Frame {
  const by = String(parameters.by ?? "stack");
  const known = run.groups("category");
  const groups = rest ? [...known, { id: known.length, key: "unknown", label: rest.name, bytes_at_peak: 0 }] : known;
  const paths = new PathMaker(run, by, parameters.root === "callee");
  const tree = new Tree(groups.length);
  for (const { bytes, blockCount, example } of weigh(run, by, select(run, parameters))) {
    const stack = run.stackOf(example);
    const group = run.groupOf(example, "category");
    tree.add(paths.pathOf(example), bytes, blockCount, group, stack === 0 ? noneU32 : stack);
  }
  const root = tree.nodes[0]!;
  if (rest && rest.totalBytes > root.bytes)
    tree.add([paths.keyOf(rest.name)], rest.totalBytes - root.bytes, 0, known.length, noneU32);
  const nodes = tree.finish(Number(parameters.max_nodes ?? 5000));
  const attributes = {
    groups,
    total_bytes: root.bytes,
    block_count: root.blockCount,
    merged_count: tree.mergedCount,
  };
  return frameOf("flame", attributes, { nodes: nodeColumns(nodes, paths) });
}

function nodeColumns(nodes: readonly Node[], paths: PathMaker): Columns {
  const texts = nodes.map((node) =>
    node.parent === noneU32 ? plain("all") : node.isMerged ? plain("… smaller") : paths.texts[node.key]!,
  );
  return {
    parent: Uint32Array.from(nodes, (node) => node.parent),
    depth: Uint16Array.from(nodes, (node) => node.depth),
    bytes: Float64Array.from(nodes, (node) => node.bytes),
    self_bytes: Float64Array.from(nodes, (node) => node.selfBytes),
    block_count: Uint32Array.from(nodes, (node) => node.blockCount),
    name: texts.map((text) => text.name),
    function: texts.map((text) => text.function),
    file: texts.map((text) => text.file),
    line: Uint32Array.from(texts, (text) => text.line),
    group: Uint16Array.from(nodes, (node) => node.group),
    stack: Uint32Array.from(nodes, (node) => node.stack),
    useful: Uint8Array.from(texts, (text) => (text.useful ? 1 : 0)),
  };
}
