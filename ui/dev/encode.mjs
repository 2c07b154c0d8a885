// Writes frames as docs/reference/api.md section 3 describes them.
const arrays = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array, u64: BigUint64Array };

export function frame(kind, attributes, tables) {
  const strings = [""];
  const known = new Map([["", 0]]);
  const intern = (text) => {
    if (!known.has(text)) known.set(text, strings.push(text) - 1);
    return known.get(text);
  };
  let offset = 0;
  const parts = [];
  const headers = Object.entries(tables).map(([name, columns]) => {
    let rows = 0;
    const described = Object.entries(columns).map(([column, [type, values]]) => {
      rows = values.length;
      const isText = type === "string";
      const array = new arrays[isText ? "u32" : type](
        isText ? values.map(intern) : type === "u64" ? values.map(BigInt) : values,
      );
      const header = { name: column, type: isText ? "u32" : type, unit: isText ? "string" : "", offset };
      parts.push([offset, new Uint8Array(array.buffer)]);
      offset = Math.ceil((offset + array.byteLength) / 8) * 8;
      return header;
    });
    return { name, rows, columns: described };
  });
  let text = JSON.stringify({ kind, attributes, strings, tables: headers });
  while (Buffer.byteLength(text) % 8 !== 0) text += " ";
  const head = Buffer.from(text);
  const bytes = Buffer.alloc(8 + head.length + offset);
  bytes.write("MSF1", 0, "latin1");
  bytes.writeUInt32LE(head.length, 4);
  head.copy(bytes, 8);
  for (const [at, part] of parts) bytes.set(part, 8 + head.length + at);
  return bytes;
}
