import { expect, it } from "vitest";
import { heapName, heapOfFile, nameInFile } from "./heap_names.ts";

it("makes a name of a bare number", () => {
  expect(heapName({ id: "1" })).toBe("memory 1");
  expect(heapName({ id: "GPU_0_bfc" })).toBe("GPU_0_bfc");
});

it("does not repeat the file beside the file", () => {
  expect(nameInFile({ id: "run_a/cuda:0" }, "/data/run_a.pickle")).toBe("cuda:0");
  expect(nameInFile({ id: "run_ab/cuda:0" }, "/data/run_a.pickle")).toBe("run_ab/cuda:0");
  expect(heapOfFile({ sources: [{ file: "/data/run_a.pickle" }] as never }, { id: "run_a/cuda:1", source: 0 })).toBe(
    "run_a.pickle · cuda:1",
  );
});
