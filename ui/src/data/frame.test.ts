import { describe, expect, it } from "vitest";
import { decodeFrame, FrameError } from "./frame.ts";

/** A frame as the engine writes it, from a header and the raw column bytes. */
function encode(header: object, data: Uint8Array, magic = "MSF1"): Uint8Array {
  let text = JSON.stringify(header);
  while ((8 + new TextEncoder().encode(text).length) % 8 !== 0) text += " ";
  const head = new TextEncoder().encode(text);
  const bytes = new Uint8Array(8 + head.length + data.length);
  bytes.set(new TextEncoder().encode(magic));
  new DataView(bytes.buffer).setUint32(4, head.length, true);
  bytes.set(head, 8);
  bytes.set(data, 8 + head.length);
  return bytes;
}

const data = new Uint8Array(32);
new Float64Array(data.buffer, 0, 2).set([1.5, 2 ** 52]);
new BigUint64Array(data.buffer, 16, 1)[0] = 0x7fffffffffffffffn;
new Uint32Array(data.buffer, 24, 1)[0] = 1;

function header(changes: object = {}): object {
  return {
    kind: "sample",
    attributes: { heap: 0 },
    strings: ["", "größe"],
    tables: [
      { name: "sizes", rows: 2, columns: [{ name: "size_bytes", type: "f64", unit: "bytes", offset: 0, ...changes }] },
      {
        name: "places",
        rows: 1,
        columns: [
          { name: "address", type: "u64", unit: "address", offset: 16 },
          { name: "label", type: "u32", unit: "string", offset: 24 },
        ],
      },
    ],
  };
}

describe("decodeFrame", () => {
  it("gives columns, addresses and texts", () => {
    const frame = decodeFrame(encode(header(), data));
    expect([...frame.table("sizes").numbers("size_bytes")]).toEqual([1.5, 2 ** 52]);
    expect(frame.table("places").addresses("address")[0]).toBe(0x7fffffffffffffffn);
    expect(frame.table("places").text("label", 0)).toBe("größe");
    expect(() => frame.table("other")).toThrow(FrameError);
    expect(() => frame.table("sizes").numbers("other")).toThrow(FrameError);
  });

  it("reads from an unaligned view", () => {
    const bytes = encode(header(), data);
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(decodeFrame(shifted.subarray(3)).table("sizes").numbers("size_bytes")[0]).toBe(1.5);
  });

  it.each([
    ["another magic", encode(header(), data, "MSF2")],
    ["too few bytes", new Uint8Array(5)],
    ["a column past the end", encode(header({ offset: 32 }), data)],
    ["a negative offset", encode(header({ offset: -8 }), data)],
    ["an unaligned column", encode(header({ offset: 4 }), data)],
    ["an unknown type", encode(header({ type: "f16" }), data)],
    ["no tables", encode({ kind: "x" }, data)],
  ])("refuses %s", (_what, bytes) => expect(() => decodeFrame(bytes)).toThrow(FrameError));

  it("never throws anything but FrameError on damaged bytes", () => {
    const good = encode(header(), data);
    let state = 7;
    const random = () => {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return state;
    };
    for (let round = 0; round < 3000; round += 1) {
      const bytes = good.slice(0, random() % 4 === 0 ? random() % good.length : good.length);
      for (let i = 0; i < 1 + (random() % 4); i += 1) bytes[random() % bytes.length] = random() % 256;
      try {
        decodeFrame(bytes);
      } catch (error) {
        expect(error, `round ${round}`).toBeInstanceOf(FrameError);
      }
    }
  });
});
