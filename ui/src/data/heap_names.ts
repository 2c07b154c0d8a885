/** What heaps are called: the id of the file, made readable where it stands alone. */
import { fileName } from "../base/text.ts";
import type { Heap, Session } from "./types.ts";

/** `cuda:0`; an id that is a bare number, as in profiles of TPUs, would be no name in a sentence: `memory 1`. */
export function heapName({ id }: Pick<Heap, "id">): string {
  return /^\d+$/.test(id) ? `memory ${id}` : id;
}

/** The name of a heap beside the name of its file: without what the id repeats of it. */
export function nameInFile(heap: Pick<Heap, "id">, file: string): string {
  const stem = fileName(file).split(".")[0] ?? "";
  return stem !== "" && heap.id.startsWith(`${stem}/`) ? heap.id.slice(stem.length + 1) : heapName(heap);
}

/** `run.pickle · cuda:0`: a heap among those of several files. */
export function heapOfFile(session: Pick<Session, "sources">, heap: Pick<Heap, "id" | "source">): string {
  const file = session.sources[heap.source]?.file ?? "";
  return `${fileName(file)} · ${nameInFile(heap, file)}`;
}
