import { expect, it } from "vitest";
import {
  type BufferRow,
  donationText,
  largestProgram,
  largestSpace,
  liveText,
  type ProgramAttributes,
  programSentence,
} from "./model.ts";

it("says when a buffer lives", () => {
  const row = (beginPoint: number, endPoint: number | null) => ({ beginPoint, endPoint }) as BufferRow;
  expect(liveText(row(0, null), 100)).toBe("all");
  expect(liveText(row(0, 99), 100)).toBe("all");
  expect(liveText(row(5, 40), 100)).toBe("5 to 40");
  expect(liveText(row(5, null), 100)).toBe("5 to the end");
});

it("divides the need of a program, and leaves out what is not known", () => {
  const program = {
    name: "jit_step",
    peak_bytes: 4 * 2 ** 30,
    argument_bytes: 3 * 2 ** 30,
    temporary_at_peak_bytes: 2 ** 30,
    peak_point: 451,
  } as ProgramAttributes;
  expect(programSentence(program)).toBe(
    "jit_step needs 4.00 GiB; its arguments are 3.00 GiB of it (75.0 %), temporaries add 1.00 GiB at instruction 451.",
  );
  expect(programSentence({ ...program, argument_bytes: null, temporary_at_peak_bytes: null })).toBe(
    "jit_step needs 4.00 GiB.",
  );
});

it("begins with the program and the memory that need most", () => {
  const program = (peaks: number[]) =>
    ({ spaces: peaks.map((peak_bytes, id) => ({ id, name: "", peak_bytes })) }) as never;
  const programs = [program([5]), program([1, 9]), program([])];
  expect(largestProgram(programs)).toBe(1);
  expect(largestSpace(programs[1]!)?.id).toBe(1);
  expect(largestSpace(programs[2]!)).toBeUndefined();
});

it("says what of the parameters is donated, and that nothing is", () => {
  const row = (allocation: number, kind: string, sizeBytes: number, isDonated: boolean) =>
    ({ allocation, kind, sizeBytes, isDonated }) as BufferRow;
  const kept = row(1, "parameter", 1024, false);
  // The output that uses the memory of a parameter lies in the same allocation: it counts once.
  const donated = [row(0, "parameter", 2048, true), row(0, "parameter", 2048, true)];
  expect(donationText([...donated, kept, row(2, "temporary", 9, false)])).toBe(
    "donated 2.00 KiB of 3.00 KiB of parameters: outputs use their memory",
  );
  expect(donationText([kept])).toMatch(/^none of 1\.00 KiB of parameters is donated/);
  expect(donationText([row(2, "temporary", 9, false)])).toBeNull();
});
