// Every question of docs/reference/api.md over the synthetic run; slow and simple.
import { frame } from "./encode.mjs";
import { makeRun } from "./run.mjs";
import * as xla from "./xla.mjs";

const run = makeRun();
const { allocations, events, steps, phases } = run;
const eventCount = events.length;
const none = 0xffffffff;
const order = [
  "parameter",
  "optimizer_state",
  "kv_cache",
  "workspace",
  "communication",
  "input",
  "gradient",
  "activation",
  "temporary",
  "logits",
  "unknown",
];
const labels = {
  parameter: "parameters",
  optimizer_state: "optimizer state",
  gradient: "gradients",
  activation: "activations",
  logits: "logits / loss",
};
const capacity = 79.2 * 2 ** 30;
const nsPerEvent = 91_000;

const live = new Float64Array(eventCount);
let sum = 0;
events.forEach((event, seq) => {
  sum += event.kind === "alloc" ? allocations[event.row].size : -allocations[event.row].size;
  live[seq] = sum;
});
const peakSeq = live.indexOf(Math.max(...live));
const liveAt = (seq) => allocations.filter((a) => a.begin <= seq && (a.end === null || a.end > seq));
const endOf = (a) => a.end ?? eventCount;
const total = (list) => list.reduce((bytes, a) => bytes + a.size, 0);
const name = (a) => a.stack.find((f) => f.useful)?.function ?? "no Python frame";
const where = (a) =>
  a.stack[0] ? `${a.stack[0].file.split("/").slice(-2).join("/")}:${a.stack[0].line}` : "no Python frame";
const stackKey = (a) => a.stack.map((f) => `${f.function}:${f.line}`).join("<") || "none";
const stepOf = (seq) => steps.find((s) => s.begin_seq <= seq && seq < s.end_seq)?.index ?? null;
const phaseOf = (seq) => phases.find((p) => p.begin_seq <= seq && seq < p.end_seq)?.name ?? null;

function keyOf(a, group) {
  if (group === "category") return a.category;
  if (group === "stack") return stackKey(a);
  if (group === "file") return a.stack[0]?.file ?? "no Python frame";
  if (group === "size") return `size_${[16, 20, 24, 27, 30, 32].filter((p) => a.size >= 2 ** p).length}`;
  if (group === "lifetime")
    return a.end === null
      ? "lifetime_6"
      : `lifetime_${[10, 100, 1000, 10000, 100000].filter((n) => a.end - a.begin >= n).length}`;
  return name(a);
}

const groupCache = new Map();
function groupsFor(group) {
  if (groupCache.has(group)) return groupCache.get(group);
  const atPeak = new Map();
  for (const a of liveAt(peakSeq)) atPeak.set(keyOf(a, group), (atPeak.get(keyOf(a, group)) ?? 0) + a.size);
  for (const a of allocations) if (!atPeak.has(keyOf(a, group))) atPeak.set(keyOf(a, group), 0);
  let keys = [...atPeak.keys()];
  if (group === "category") keys = order.filter((key) => atPeak.has(key));
  else if (/size|lifetime/.test(group)) keys.sort();
  else keys = [...keys.sort((a, b) => atPeak.get(b) - atPeak.get(a)).slice(0, 9), "rest"];
  const index = new Map(keys.map((key, id) => [key, id]));
  const result = {
    groups: keys.map((key, id) => ({
      id,
      key,
      label: labels[key] ?? key.split("<")[0].split(":")[0],
      bytes_at_peak: atPeak.get(key) ?? 0,
    })),
    of: (a) => index.get(keyOf(a, group)) ?? index.get("rest"),
  };
  groupCache.set(group, result);
  return result;
}

function columnsOf({ axis, begin, end, columns }) {
  const [b, e, n] = [Number(begin), Number(end), Number(columns)];
  const scale = axis === "time" ? 1 / nsPerEvent : 1;
  const edges = Array.from({ length: n + 1 }, (_, i) =>
    Math.min(
      eventCount,
      axis === "time" ? Math.ceil((b + (i * (e - b)) / n) * scale) : b + Math.floor((i * (e - b)) / n),
    ),
  );
  const at = [];
  for (let i = 0; i < n; i += 1) {
    let best = Math.min(edges[i], eventCount - 1);
    if (edges[i] === edges[i + 1]) best = Math.max(0, best - 1);
    for (let seq = edges[i]; seq < edges[i + 1]; seq += 1) if (live[seq] > live[best]) best = seq;
    at.push(best);
  }
  return { edges, at, n };
}

function tile(query) {
  const { edges, at, n } = columnsOf(query);
  const attributes = {
    heap: 0,
    axis: query.axis,
    begin: Number(query.begin),
    end: Number(query.end),
    columns: n,
    event_count: edges[n] - edges[0],
  };
  const base = { begin_seq: ["u32", edges.slice(0, n)], at_seq: ["u32", at] };
  if (query.kind === "live_curve") {
    const range = (i, pick) =>
      pick(
        ...Array.from(
          { length: Math.max(1, edges[i + 1] - edges[i]) },
          (_, k) => live[Math.min(edges[i] + k, eventCount - 1)],
        ),
      );
    const index = [...Array(n).keys()];
    const reserved = index.map((i) => events[Math.max(0, edges[i + 1] - 1)]?.reserved ?? 0);
    return frame("live_curve", attributes, {
      columns: {
        ...base,
        live_min_bytes: ["f64", index.map((i) => range(i, Math.min))],
        live_max_bytes: ["f64", at.map((seq) => live[seq])],
        live_last_bytes: ["f64", index.map((i) => live[Math.max(0, edges[i + 1] - 1)])],
        block_max_bytes: ["f64", at.map((seq) => live[seq])],
        reserved_max_bytes: ["f64", reserved],
        reserved_last_bytes: ["f64", reserved],
        pending_max_bytes: ["f64", index.map(() => 0)],
        oom_count: ["u32", index.map(() => 0)],
      },
    });
  }
  return query.kind === "address_map"
    ? addressMap(query, attributes, base, edges, n)
    : allocStack(query, attributes, base, at, n);
}

function allocStack(query, attributes, base, at, n) {
  const { groups, of } = groupsFor(query.group);
  const hidden = new Set((query.hide ?? "").split(",").filter(Boolean).map(Number));
  const minBytes = Number(query.min_bytes);
  const bands = new Float64Array(groups.length * n);
  const hiddenBytes = new Float64Array(n);
  const open = new Map();
  const runs = [];
  const close = (run, column) => runs.push({ ...run, end: column });
  for (let i = 0; i < n; i += 1) {
    const list = liveAt(at[i]);
    const shown = list.filter((a) => !hidden.has(of(a)));
    hiddenBytes[i] = total(list) - total(shown);
    if (query.order === "grouped") shown.sort((a, b) => of(a) - of(b) || a.row - b.row);
    let y = 0;
    const here = new Set();
    for (const a of shown) {
      const g = of(a);
      bands[g * n + i] += a.size;
      if (a.size >= minBytes || query.order !== "grouped") {
        const run = open.get(a.row);
        here.add(a.row);
        if (!run || run.y0 !== y) {
          if (run) close(run, i);
          open.set(a.row, { row: a.row, begin: i, y0: y, y1: y + a.size, g });
        }
      }
      y += a.size;
    }
    for (const [row, run] of open)
      if (!here.has(row)) {
        close(run, i);
        open.delete(row);
      }
  }
  for (const run of open.values()) close(run, n);
  runs.sort((a, b) => a.begin - b.begin || a.y0 - b.y0);
  return frame(
    "alloc_stack",
    { ...attributes, groups, min_bytes: minBytes, merged_count: 0, block_count: allocations.length },
    {
      columns: { ...base, hidden_bytes: ["f64", hiddenBytes] },
      bands: { bytes: ["f64", bands] },
      runs: {
        column_begin: ["u16", runs.map((r) => r.begin)],
        column_end: ["u16", runs.map((r) => r.end)],
        y0_bytes: ["f64", runs.map((r) => r.y0)],
        y1_bytes: ["f64", runs.map((r) => r.y1)],
        group: ["u16", runs.map((r) => r.g)],
        allocation: ["u32", runs.map((r) => r.row)],
        block_count: ["u32", runs.map(() => 1)],
      },
    },
  );
}

function addressMap(query, attributes, base, edges, n) {
  const { groups, of } = groupsFor(query.group);
  const segments = [...allocations.segments].sort((a, b) => a.address - b.address);
  let y = 0;
  for (const s of segments) {
    s.y = y;
    y += s.size;
  }
  const columnOf = (seq) => {
    let i = 0;
    while (i < n && edges[i + 1] <= seq) i += 1;
    return i;
  };
  const rects = allocations
    .filter((a) => a.begin < edges[n] && endOf(a) > edges[0])
    .map((a) => ({
      a,
      begin: columnOf(a.begin),
      end: Math.max(columnOf(a.begin) + 1, columnOf(endOf(a))),
      s: segments.findLast((s) => s.address <= a.address),
    }));
  return frame(
    "address_map",
    { ...attributes, groups, height_bytes: y, merged_count: 0, approximate: false },
    {
      columns: base,
      regions: {
        address: ["u64", segments.map((s) => s.address)],
        size_bytes: ["f64", segments.map((s) => s.size)],
        y_bytes: ["f64", segments.map((s) => s.y)],
        begin_seq: ["u32", segments.map((s) => s.begin)],
        end_seq: ["u32", segments.map(() => none)],
        pool: ["string", segments.map(() => "large")],
        stream: ["u32", segments.map(() => 0)],
      },
      rects: {
        column_begin: ["u16", rects.map((r) => r.begin)],
        column_end: ["u16", rects.map((r) => Math.min(n, r.end))],
        y_bytes: ["f64", rects.map((r) => r.s.y + r.a.address - r.s.address)],
        size_bytes: ["f64", rects.map((r) => r.a.size)],
        group: ["u16", rects.map((r) => of(r.a))],
        allocation: ["u32", rects.map((r) => r.a.row)],
        block_count: ["u32", rects.map(() => 1)],
      },
    },
  );
}

function cursor(seq) {
  const event = events[seq];
  const a = allocations[event.row];
  return {
    heap: 0,
    seq,
    offset_ns: seq * nsPerEvent,
    live_bytes: live[seq],
    block_bytes: live[seq],
    pending_bytes: 0,
    reserved_bytes: event.reserved,
    idle_bytes: event.reserved - live[seq],
    step: stepOf(seq),
    phase: phaseOf(seq),
    event: {
      kind: event.kind,
      address: `0x${a.address.toString(16)}`,
      size_bytes: a.size,
      allocation: a.row,
      stream: 0,
    },
  };
}

function state({ seq, group }) {
  const at = Number(seq);
  const { groups, of } = groupsFor(group);
  const blocks = liveAt(at).sort((a, b) => a.address - b.address);
  const segments = allocations.segments.filter((s) => s.begin <= at).sort((a, b) => b.size - a.size);
  const [b, h, rows] = [[], [], []];
  segments.forEach((s, index) => {
    const inside = blocks.filter((a) => a.address >= s.address && a.address < s.address + s.size);
    const row = { s, blockBegin: b.length, holeBegin: h.length, used: total(inside) };
    let place = s.address;
    for (const a of [...inside, { address: s.address + s.size }]) {
      if (a.address > place)
        h.push({ index, offset: place - s.address, size: a.address - place, kind: inside.length ? 3 : 1 });
      if (a.size) b.push({ index, offset: a.address - s.address, a });
      place = a.address + (a.size ?? 0);
    }
    rows.push({ ...row, blockEnd: b.length, holeEnd: h.length });
  });
  const kind = (k) => h.filter((x) => x.kind === k).reduce((t, x) => t + x.size, 0);
  return frame(
    "state",
    {
      ...cursor(at),
      groups,
      rounding_bytes: 0,
      largest_idle_bytes: Math.max(0, ...h.map((x) => x.size)),
      by_kind: { private_pool_bytes: 0, whole_segment_bytes: kind(1), stream_bytes: 0, split_bytes: kind(3) },
      approximate: false,
      oom: null,
    },
    {
      segments: {
        address: ["u64", rows.map((r) => r.s.address)],
        size_bytes: ["f64", rows.map((r) => r.s.size)],
        used_bytes: ["f64", rows.map((r) => r.used)],
        pool: ["string", rows.map(() => "large")],
        kind: ["string", rows.map(() => "segment")],
        stream: ["u32", rows.map(() => 0)],
        begin_seq: ["u32", rows.map((r) => r.s.begin)],
        block_begin: ["u32", rows.map((r) => r.blockBegin)],
        block_end: ["u32", rows.map((r) => r.blockEnd)],
        hole_begin: ["u32", rows.map((r) => r.holeBegin)],
        hole_end: ["u32", rows.map((r) => r.holeEnd)],
      },
      blocks: {
        segment: ["u32", b.map((x) => x.index)],
        offset_bytes: ["f64", b.map((x) => x.offset)],
        size_bytes: ["f64", b.map((x) => x.a.size)],
        requested_bytes: ["f64", b.map((x) => x.a.size)],
        state: ["u8", b.map(() => 0)],
        allocation: ["u32", b.map((x) => x.a.row)],
        group: ["u16", b.map((x) => of(x.a))],
      },
      holes: {
        segment: ["u32", h.map((x) => x.index)],
        offset_bytes: ["f64", h.map((x) => x.offset)],
        size_bytes: ["f64", h.map((x) => x.size)],
        kind: ["u8", h.map((x) => x.kind)],
      },
    },
  );
}

function selection({ of = "peak", seq, begin, end }) {
  if (of === "peak") return liveAt(peakSeq);
  if (of === "seq") return liveAt(Number(seq));
  if (of === "end") return liveAt(eventCount - 1);
  const made = allocations.filter((a) => a.begin >= Number(begin) && a.begin < Number(end));
  return of === "allocated" ? made : made.filter((a) => endOf(a) > Number(end));
}

function holders(query) {
  const list = selection(query);
  const by = new Map();
  const keyed =
    query.by === "stack"
      ? stackKey
      : query.by === "category"
        ? (a) => a.category
        : query.by === "file"
          ? (a) => a.stack[0]?.file ?? "none"
          : name;
  for (const a of list) by.set(keyed(a), [...(by.get(keyed(a)) ?? []), a]);
  let rows = [...by]
    .map(([key, group]) => ({
      key,
      label: query.by === "category" ? (labels[key] ?? key) : query.by === "file" ? key : name(group[0]),
      where: query.by === "category" ? "" : where(group[0]),
      category: group[0].category,
      bytes: total(group),
      block_count: group.length,
      largest_bytes: Math.max(...group.map((a) => a.size)),
      since: `${stepOf(group[0].begin) === null ? "" : `step ${stepOf(group[0].begin)} `}${phaseOf(group[0].begin)}`,
      stack_id: 1,
      stack: group[0].stack,
      example: group[0].row,
    }))
    .sort((a, b) => b.bytes - a.bytes);
  const count = rows.length;
  if (query.search)
    rows = rows.filter((row) => `${row.label} ${row.where}`.toLowerCase().includes(query.search.toLowerCase()));
  return {
    of: query.of,
    by: query.by,
    total_bytes: total(list),
    total_block_count: list.length,
    row_count: count,
    matched_bytes: rows.reduce((t, r) => t + r.bytes, 0),
    rows,
  };
}

function flame(query) {
  const { groups, of } = groupsFor("category");
  const root = { name: "all", children: new Map(), bytes: 0, self: 0, count: 0, by: new Map() };
  for (const a of selection(query)) {
    const path =
      a.stack.length === 0
        ? [{ function: "no Python frame", file: "", line: 0, useful: true }]
        : query.root === "callee"
          ? a.stack
          : [...a.stack].reverse();
    let node = root;
    for (const f of [null, ...path]) {
      if (f) {
        const key = `${f.function}:${f.file}:${f.line}`;
        if (!node.children.has(key))
          node.children.set(key, {
            ...f,
            name: f.function,
            children: new Map(),
            bytes: 0,
            self: 0,
            count: 0,
            by: new Map(),
          });
        node = node.children.get(key);
      }
      node.bytes += a.size;
      node.count += 1;
      node.by.set(of(a), (node.by.get(of(a)) ?? 0) + a.size);
    }
    node.self += a.size;
  }
  const nodes = [];
  const visit = (node, parent, depth) => {
    const index = nodes.push({ ...node, parent, depth }) - 1;
    for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) visit(child, index, depth + 1);
  };
  visit(root, none, 0);
  return frame(
    "flame",
    { groups, total_bytes: root.bytes, block_count: root.count, merged_count: 0 },
    {
      nodes: {
        parent: ["u32", nodes.map((x) => x.parent)],
        depth: ["u16", nodes.map((x) => x.depth)],
        bytes: ["f64", nodes.map((x) => x.bytes)],
        self_bytes: ["f64", nodes.map((x) => x.self)],
        block_count: ["u32", nodes.map((x) => x.count)],
        name: ["string", nodes.map((x) => x.name)],
        function: ["string", nodes.map((x) => x.function ?? "")],
        file: ["string", nodes.map((x) => x.file ?? "")],
        line: ["u32", nodes.map((x) => x.line ?? 0)],
        group: ["u16", nodes.map((x) => [...x.by].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0)],
        stack: ["u32", nodes.map(() => none)],
        useful: ["u8", nodes.map((x) => (x.useful === false ? 0 : 1))],
      },
    },
  );
}

function allocation(row) {
  const a = allocations[row];
  const same = allocations.filter((b) => stackKey(b) === stackKey(a));
  return {
    row,
    heap: 0,
    address: `0x${a.address.toString(16)}`,
    size_bytes: a.size,
    block_bytes: a.size,
    alloc_seq: a.begin,
    free_requested_seq: a.end,
    free_seq: a.end,
    alloc_offset_ns: a.begin * nsPerEvent,
    free_offset_ns: a.end === null ? null : a.end * nsPerEvent,
    preexisting: false,
    stream: 0,
    pool: "large",
    segment_bytes: null,
    category: a.category,
    category_basis: "stack",
    step: stepOf(a.begin),
    phase: phaseOf(a.begin),
    free_phase: a.end === null ? null : phaseOf(a.end),
    label: name(a),
    op: null,
    shape: null,
    data_type: null,
    stack: a.stack,
    free_stack: [],
    stack_id: 1,
    neighbours: [
      { row: null, size_bytes: 2 ** 24, state: "idle", category: null, label: "idle", is_this: false },
      { row, size_bytes: a.size, state: "live", category: a.category, label: name(a), is_this: true },
    ],
    same_stack: {
      count: same.length,
      bytes: total(same),
      rows: same
        .slice(0, 200)
        .map((b) => ({ row: b.row, size_bytes: b.size, alloc_seq: b.begin, free_seq: b.end, step: stepOf(b.begin) })),
    },
  };
}

function range({ begin, end }) {
  const [b, e] = [Number(begin), Number(end)];
  const made = allocations.filter((a) => a.begin >= b && a.begin < e);
  const gone = allocations.filter((a) => a.end !== null && a.end >= b && a.end < e);
  const kept = made.filter((a) => endOf(a) >= e);
  let peak = b;
  for (let seq = b; seq < e; seq += 1) if (live[seq] > live[peak]) peak = seq;
  return {
    begin_seq: b,
    end_seq: e,
    duration_ns: (e - b) * nsPerEvent,
    allocated_bytes: total(made),
    allocated_count: made.length,
    freed_bytes: total(gone),
    freed_count: gone.length,
    survived_bytes: total(kept),
    survived_count: kept.length,
    live_begin_bytes: live[b],
    live_end_bytes: live[e - 1],
    peak_bytes: live[peak],
    peak_seq: peak,
    by_category: order
      .map((category) => ({
        category,
        allocated_bytes: total(made.filter((a) => a.category === category)),
        survived_bytes: total(kept.filter((a) => a.category === category)),
      }))
      .filter((r) => r.allocated_bytes > 0),
  };
}

const maxIn = (b, e) => {
  let best = b;
  for (let seq = b; seq < e; seq += 1) if (live[seq] > live[best]) best = seq;
  return best;
};
const phaseIn = (step, wanted) => phases.find((p) => p.step === step && p.name === wanted);
const summaryHolders = holders({ of: "peak", by: "stack" });
const fragmentation = {
  at: "peak",
  idle_bytes: events[peakSeq].reserved - live[peakSeq],
  largest_idle_bytes: 2 ** 30,
  rounding_bytes: 0,
  fraction: 0.4,
  by_kind: {
    private_pool_bytes: 0,
    whole_segment_bytes: 2 ** 30,
    stream_bytes: 0,
    split_bytes: events[peakSeq].reserved - live[peakSeq] - 2 ** 30,
  },
};
const summary = {
  schema: "memstrata.summary/1",
  heaps: [
    {
      id: "cuda:0",
      allocator: "torch_caching",
      capacity_bytes: capacity,
      event_count: eventCount,
      allocation_count: allocations.length,
      free_count: 1,
      allocated_bytes_total: total(allocations),
      freed_bytes_total: 0,
      oom_count: 0,
      preexisting: { block_count: 0, bytes: 0 },
      peak: {
        live: { bytes: live[peakSeq], seq: peakSeq, time_ns: null },
        block: { bytes: live[peakSeq], seq: peakSeq, time_ns: null },
        reserved: { bytes: events.at(-1).reserved, seq: 1, time_ns: null },
        is_lower_bound: false,
        lower_bound_reason: null,
      },
      end: {
        live_bytes: live.at(-1),
        block_bytes: live.at(-1),
        pending_bytes: 0,
        reserved_bytes: events.at(-1).reserved,
      },
      fragmentation,
      holders: summaryHolders.rows.map((r) => ({
        bytes: r.bytes,
        block_count: r.block_count,
        share: r.bytes / live[peakSeq],
        category: r.category,
        stack: r.stack,
      })),
      ooms: [],
    },
  ],
};
const markFor = (kind, phase, bytes, text, begin = phase.begin_seq, end = phase.end_seq) => ({
  kind,
  step: phase.step,
  begin_seq: begin,
  end_seq: end,
  bytes,
  count: 24,
  text,
  reading: `Reading of ${kind}: what this shape means.`,
  stack: null,
});
const marks = steps.flatMap(({ index }) => [
  markFor("forward_ramp", phaseIn(index, "forward"), 1.2e9, "24 saved inputs of checkpointed layers, 48.0 MiB each"),
  markFor("logits_slab", phaseIn(index, "loss"), 1800 * 2 ** 20, "made by lm_head in float32"),
  markFor("recompute_ripple", phaseIn(index, "backward"), 2e8, "one per recomputed layer"),
  markFor("foreach_temporaries", phaseIn(index, "optimizer"), 9e9, "foreach Adam: one copy of the parameters"),
  markFor("zero_grad_slope", phaseIn(index, "zero_grad"), 9e9, "set_to_none frees 146 gradients"),
]);
marks.push(markFor("optimizer_state_init", phaseIn(0, "optimizer"), 18e9, "292 tensors, first step only"));
const explain = {
  schema: "memstrata.explain/1",
  heaps: [
    {
      id: "cuda:0",
      steps: steps.map((s) => ({
        ...s,
        peak_live_bytes: live[maxIn(s.begin_seq, s.end_seq)],
        end_live_bytes: live[s.end_seq - 1],
      })),
      phases: phases.map((p) => ({
        ...p,
        peak_live_bytes: live[maxIn(p.begin_seq, p.end_seq)],
        delta_bytes: 0,
        confidence: 1,
        basis: "stack",
      })),
      anatomy: {
        step: 2,
        marks: marks
          .map((m, i) => [m, i])
          .filter(([m]) => m.step === 2)
          .map(([, i]) => i),
      },
      bands: groupsFor("category")
        .groups.filter((g) => g.bytes_at_peak > 0)
        .map((g) => ({ category: g.key, at_peak_bytes: g.bytes_at_peak, constant_bytes: 0, label: g.label })),
      marks,
      next_peak: [{ remove: "temporary of the update", new_peak_bytes: 27e9, new_peak_seq: 900, gain_bytes: 5e9 }],
      growth: { kind: "none", bytes_per_step: 0, begin_step: null },
    },
  ],
  findings: [
    {
      id: "loss_peak",
      severity: "warning",
      text: "The optimizer step needs one more copy of the parameters. foreach Adam makes temporaries of 8.73 GiB.",
      bytes: 9e9,
      confidence: "computed",
      remedy: "A fused or per-tensor update makes none; the next peak is 27.8 GiB, in the loss.",
      evidence: { heap: 0, seq: peakSeq },
    },
    {
      id: "idle",
      severity: "info",
      text: "Between steps 60 % of the reserved memory is idle. All of it lies in whole or split large segments of one stream.",
      bytes: 12e9,
      confidence: "computed",
      remedy: null,
      evidence: { heap: 0, begin_seq: 2000, end_seq: 2400 },
    },
    {
      id: "no_growth",
      severity: "ok",
      text: "No growth: live memory after steps 1 to 3 is equal to the byte.",
      bytes: 0,
      confidence: "measured",
      remedy: null,
      evidence: null,
    },
  ],
  missing: [],
  diagnostics: [],
};
const session = {
  schema: "memstrata.session/1",
  version: "0.1.0",
  id: "fixture",
  simulated: false,
  sources: [
    {
      file: "train.pickle",
      format: "torch_snapshot",
      title: "PyTorch snapshot",
      size_bytes: 12345678,
      truncated: false,
    },
  ],
  heaps: [
    {
      index: 0,
      source: 0,
      id: "cuda:0",
      device: null,
      kind: "device",
      allocator: "torch_caching",
      capacity_bytes: capacity,
      event_count: eventCount,
      range_end: eventCount,
      allocation_count: allocations.length,
      begin_time_ns: "1700000000000000000",
      duration_ns: (eventCount - 1) * nsPerEvent,
      time_base: "unix",
      has: ["time", "stacks", "segments", "addresses", "block_size", "complete_history"],
      peak_live_seq: peakSeq,
      peak_live_bytes: live[peakSeq],
      peak_reserved_bytes: events.at(-1).reserved,
      default: true,
    },
  ],
  programs: [],
  settings: [{ source: 0, key: "expandable_segments", value: "False" }],
  missing: [
    {
      what: "memory outside the allocator",
      why: "A snapshot holds only what PyTorch's allocator did.",
      how_to_get: "Record with `memstrata run`.",
    },
  ],
  diagnostics: [
    {
      severity: "info",
      code: "no_cpp_frames",
      count: 2,
      first_offset: null,
      text: "Frees and backward allocations carry no Python frame.",
    },
  ],
};

session.heaps.push(xla.heap);
session.sources.push({
  file: "profile.xplane.pb",
  format: "xplane",
  title: "XPlane profile",
  size_bytes: 4567890,
  truncated: false,
});
session.programs.push({
  index: 0,
  name: "jit_train_step",
  source: 1,
  spaces: [
    { id: 0, name: "HBM", peak_bytes: 4.91 * 2 ** 30 },
    { id: 1, name: "VMEM", peak_bytes: 2 ** 24 },
  ],
});
summary.heaps.push(xla.summaryHeap);
explain.heaps.push({
  id: "TPU:0",
  steps: [],
  phases: [],
  anatomy: null,
  bands: [],
  marks: [],
  next_peak: [],
  growth: null,
});

const jsonAnswers = {
  progress: () => ({
    state: "ready",
    file: "train.pickle",
    event_count: eventCount,
    read_bytes: 1,
    total_bytes: 1,
    elapsed_ms: 10,
    error: null,
  }),
  session: () => session,
  summary: () => summary,
  explain: () => explain,
  cursor: (q) => (q.heap === "1" ? xla.cursor(Number(q.seq)) : cursor(Number(q.seq))),
  pick: (q) => {
    const { of } = groupsFor(q.group);
    let y = 0;
    const list = liveAt(Number(q.seq)).sort((a, b) => (q.order === "grouped" ? of(a) - of(b) : 0) || a.row - b.row);
    const hit = list.find((a) => {
      y += a.size;
      return y > Number(q.y_bytes);
    });
    return { allocation: hit?.row ?? null };
  },
  seek: (q) => ({ seq: Math.min(eventCount - 1, Math.floor(Number(q.offset_ns) / nsPerEvent)) }),
  allocation: (q) => allocation(Number(q.row)),
  holders,
  range,
  spans: (q) => (q.heap === "1" ? { total: xla.runs.length, rows: xla.runs } : { total: 0, rows: [] }),
  compare: (q) => {
    const rows = holders({ of: "peak", by: q.by })
      .rows.slice(0, 8)
      .map((row, i) => ({
        stack: row.stack,
        category: row.category,
        label: row.label,
        where: row.where,
        before_bytes: row.bytes,
        after_bytes: Math.round(row.bytes * (1 + ((i % 3) - 1) * 0.3)),
        delta_bytes: Math.round(row.bytes * ((i % 3) - 1) * 0.3),
      }));
    return {
      schema: "memstrata.diff/1",
      heaps: [{ id: "cuda:0", peak_live_delta_bytes: rows.reduce((t, r) => t + r.delta_bytes, 0), rows }],
    };
  },
  search: (q) => {
    const rows = holders({ of: "allocated", begin: 0, end: eventCount, by: "stack", search: q.q }).rows;
    return {
      query: q.q,
      total: rows.length,
      hits: rows.slice(0, 50).map((r) => ({
        kind: "function",
        label: r.label,
        where: r.where,
        bytes: r.bytes,
        bytes_are: "total",
        block_count: r.block_count,
        seq: allocations[r.example].begin,
        allocation: r.example,
      })),
    };
  },
};
const frameAnswers = { tile: (q) => (q.heap === "1" ? xla.tile(q) : tile(q)), state, flame, program: xla.program };

export function answer(question, query) {
  if (frameAnswers[question]) return { frame: frameAnswers[question](query) };
  if (jsonAnswers[question]) return { json: jsonAnswers[question](query) };
  return {
    status: 404,
    json: {
      schema: "memstrata.error/1",
      code: "not_found",
      message: `There is no question "${question}".`,
      file: null,
      offset: null,
    },
  };
}
