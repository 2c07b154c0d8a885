// A second heap and a static program, shaped like an XLA profile: a stack reservation, a heap, program runs, planned buffers.
import { frame } from "./encode.mjs";

const GiB = 2 ** 30;
const none = 0xffffffff;
export const eventCount = 234;
export const capacity = 31.2 * GiB;
const durationNs = 98e9;

function stateAt(seq) {
  const share = seq / eventCount;
  const stack = share > 0.2 ? 20 * GiB : 0;
  const heap = share > 0.04 && share < 0.2 ? (seq % 8 < 4 ? 5 : 15) * GiB : 837 * 1024;
  return { stack, heap, free: capacity - stack - heap, fragmentation: share < 0.2 ? (seq % 8) / 20 : 0.02 };
}

export const heap = {
  index: 1,
  source: 1,
  id: "TPU:0",
  device: "TPU v4",
  kind: "device",
  allocator: "tpu",
  capacity_bytes: capacity,
  event_count: eventCount,
  range_end: eventCount,
  allocation_count: 117,
  begin_time_ns: "0",
  duration_ns: durationNs,
  time_base: "capture",
  has: ["time", "stack_reservation"],
  peak_live_seq: 13,
  peak_live_bytes: 15 * GiB,
  peak_reserved_bytes: capacity,
  default: false,
};

const holder = (category, bytes, op, shape) => ({
  bytes,
  block_count: 1,
  share: bytes / (20 * GiB),
  category,
  stack: [],
  op,
  requested_bytes: bytes,
  region_type: category === "stack" ? "stack" : "heap",
  data_type: shape ? "f32" : null,
  shape,
  allocated_before_recording: false,
});

export const summaryHeap = {
  id: "TPU:0",
  allocator: "tpu",
  capacity_bytes: capacity,
  event_count: eventCount,
  allocation_count: 117,
  free_count: 117,
  allocated_bytes_total: 1,
  freed_bytes_total: 1,
  oom_count: 0,
  preexisting: { block_count: 0, bytes: 0 },
  peak: {
    live: { bytes: 15 * GiB, seq: 13, time_ns: null },
    block: null,
    reserved: { bytes: capacity, seq: 0, time_ns: null },
    used: {
      bytes: 20 * GiB + 837 * 1024,
      seq: 47,
      time_ns: null,
      stack_bytes: 20 * GiB,
      live_bytes: 837 * 1024,
      free_bytes: capacity - 20 * GiB - 837 * 1024,
      fragmentation: 0.02,
      step_id: null,
      tied_count: 69,
    },
    is_lower_bound: false,
    lower_bound_reason: null,
  },
  end: { live_bytes: 1, block_bytes: null, pending_bytes: null, reserved_bytes: null },
  fragmentation: null,
  holders: [
    holder("stack", 20 * GiB, null, null),
    holder("unknown", 821760, null, null),
    holder("unknown", 512, "dummy", "f32[]{:T(128)}"),
  ],
  ooms: [],
  lifetime_peak_bytes: 15 * GiB,
  largest_request_now_bytes: 11 * GiB,
};

export const runs = Array.from({ length: 60 }, (_, i) => ({
  kind: "program_run",
  name: "jit_f(12190760917235803885)",
  device: "TPU:0",
  run_id: String(i),
  depth: 0,
  begin_seq: Math.min(233, 47 + 3 * i),
  end_seq: Math.min(234, 50 + 3 * i),
  begin_offset_ns: 20e9 + i * 1.25e9,
  duration_ns: 1.1e9,
}));

export function tile(query) {
  const [b, e, n] = [Number(query.begin), Number(query.end), Number(query.columns)];
  const seqAt = (i) =>
    Math.min(
      eventCount - 1,
      Math.max(
        0,
        Math.floor(query.axis === "time" ? ((b + ((e - b) * i) / n) / durationNs) * eventCount : b + ((e - b) * i) / n),
      ),
    );
  const at = Array.from({ length: n }, (_, i) => seqAt(i));
  const values = at.map(stateAt);
  const attributes = { heap: 1, axis: query.axis, begin: b, end: e, columns: n, event_count: eventCount };
  const base = { begin_seq: ["u32", at], at_seq: ["u32", at] };
  if (query.kind === "xla_profile")
    return frame("xla_profile", attributes, {
      columns: {
        ...base,
        stack_bytes: ["f64", values.map((v) => v.stack)],
        heap_bytes: ["f64", values.map((v) => v.heap)],
        free_bytes: ["f64", values.map((v) => v.free)],
        fragmentation: ["f64", values.map((v) => v.fragmentation)],
      },
    });
  const heapBytes = values.map((v) => v.heap);
  if (query.kind === "live_curve")
    return frame("live_curve", attributes, {
      columns: {
        ...base,
        live_min_bytes: ["f64", heapBytes],
        live_max_bytes: ["f64", heapBytes],
        live_last_bytes: ["f64", heapBytes],
        block_max_bytes: ["f64", heapBytes],
        reserved_max_bytes: ["f64", values.map(() => Number.NaN)],
        reserved_last_bytes: ["f64", values.map(() => Number.NaN)],
        pending_max_bytes: ["f64", values.map(() => Number.NaN)],
        oom_count: ["u32", at.map(() => 0)],
      },
    });
  return frame(
    "alloc_stack",
    {
      ...attributes,
      groups: [{ id: 0, key: "unknown", label: "unknown", bytes_at_peak: 15 * GiB }],
      min_bytes: 1,
      merged_count: 0,
      block_count: 1,
    },
    {
      columns: { ...base, hidden_bytes: ["f64", at.map(() => 0)] },
      bands: { bytes: ["f64", heapBytes] },
      runs: {
        column_begin: ["u16", []],
        column_end: ["u16", []],
        y0_bytes: ["f64", []],
        y1_bytes: ["f64", []],
        group: ["u16", []],
        allocation: ["u32", []],
        block_count: ["u32", []],
      },
    },
  );
}

export function cursor(seq) {
  const { stack, heap: live, free } = stateAt(seq);
  return {
    heap: 1,
    seq,
    offset_ns: (seq / eventCount) * durationNs,
    live_bytes: live,
    block_bytes: null,
    pending_bytes: null,
    reserved_bytes: stack + live + free,
    idle_bytes: free,
    step: null,
    phase: null,
    event: null,
  };
}

export function program() {
  const points = 827;
  const size = Array.from(
    { length: points },
    (_, i) => (3.09 + (i > 245 && i < 685 ? 1.6 + (i === 451 ? 0.22 : i / 5000) : i > 20 && i < 760 ? 0.6 : 0)) * GiB,
  );
  const names = ["param.31", "param.26", "broadcast.549.clone", "custom-call.199", "fusion.334", "broadcast.551"];
  const buffers = Array.from({ length: 60 }, (_, i) => ({
    name: i < 6 ? names[i] : `fusion.${i}`,
    parameter: i < 20,
    size: (240 - 4 * i) * 2 ** 20,
    offset: i * 240 * 2 ** 20,
    begin: i < 20 ? 0 : 240 + 5 * i,
    end: i < 20 ? none : 680,
  }));
  return frame(
    "program",
    {
      name: "jit_train_step",
      space: 0,
      peak_bytes: Math.max(...size),
      peak_unpadded_bytes: Math.max(...size) - 508,
      peak_point: 451,
      point_count: points,
      argument_bytes: 3.09 * GiB,
      temporary_at_peak_bytes: 1.82 * GiB,
      allocated_bytes: 4.91 * GiB,
      gap_bytes: 2 * 2 ** 20,
      padding_bytes: 508,
      output_bytes: 3.09 * GiB,
      entry_computation: "main",
    },
    {
      curve: {
        size_bytes: ["f64", size],
        unpadded_bytes: ["f64", size],
        instruction: ["string", size.map((_, i) => `instruction.${i}`)],
      },
      buffers: {
        name: ["string", buffers.map((b) => b.name)],
        opcode: ["string", buffers.map((b) => (b.parameter ? "parameter" : "fusion"))],
        op_name: ["string", buffers.map((b) => (b.parameter ? "params.decoder.layers.mlp.wi.kernel" : ""))],
        shape: ["string", buffers.map(() => "bf16[16,7168,512]{2,1,0:T(8,128)(2,1)}")],
        category: ["string", buffers.map((b) => (b.parameter ? "parameter" : "temporary"))],
        source: ["string", buffers.map(() => "model.py:12")],
        kind: ["string", buffers.map((b) => (b.parameter ? "parameter" : "temporary"))],
        size_bytes: ["f64", buffers.map((b) => b.size)],
        unpadded_bytes: ["f64", buffers.map((b) => b.size - 508)],
        offset_bytes: ["f64", buffers.map((b) => b.offset)],
        begin_point: ["u32", buffers.map((b) => b.begin)],
        end_point: ["u32", buffers.map((b) => b.end)],
        at_peak: ["u8", buffers.map(() => 1)],
        allocation_index: ["u32", buffers.map((_, i) => i)],
        flags: ["u8", buffers.map(() => 0)],
      },
    },
  );
}
