import { expect, it } from "vitest";
import { type BufferRow, liveText, type ProgramAttributes, programSentence } from "./model.ts";

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
