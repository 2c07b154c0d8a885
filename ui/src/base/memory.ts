/** Gives the bytes of a buffer back at once where the browser can, else they wait for the garbage collector, which is in no hurry. */
export function freeBuffer(buffer: ArrayBufferLike): void {
  (buffer as ArrayBuffer & { transfer?: (byteLength: number) => ArrayBuffer }).transfer?.(0);
}
