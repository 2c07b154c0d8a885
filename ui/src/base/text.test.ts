import { expect, it } from "vitest";
import { capitalised, cutEnd, cutMiddle, fileName, pathTail, toTsv } from "./text.ts";

it("cuts texts to a length", () => {
  expect(cutMiddle("/usr/lib/python3/torch/nn/functional.py", 20)).toHaveLength(20);
  expect(cutMiddle("/usr/lib/python3/torch/nn/functional.py", 20)).toMatch(/^\/usr.*…*tional\.py$/);
  expect(cutEnd("set_to_none frees 436 gradients, then more", 34)).toBe("set_to_none frees 436 gradients…");
  expect(cutEnd("short", 34)).toBe("short");
  expect(pathTail("/a/b/c.py")).toBe("b/c.py");
  expect(["/a/b/c.py", "C:\\a\\c.py", "c.py"].map(fileName)).toEqual(["c.py", "c.py", "c.py"]);
  expect(["kV cache", "", "Ω"].map(capitalised)).toEqual(["KV cache", "", "Ω"]);
});

it("keeps a table a table", () => {
  expect(
    toTsv([
      ["a\tb", 1, null],
      ["c\nd", 2, "x"],
    ]),
  ).toBe("a b\t1\t\nc d\t2\tx");
});
