import { describe, expect, it } from "vitest";
import { formatByteChange, formatBytes, formatCount, formatDuration, formatRoughCount, formatShare } from "./units.ts";

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [512, "512 B"],
    [999, "999 B"],
    [1000, "0.98 KiB"],
    [1024, "1.00 KiB"],
    [4978638848, "4.64 GiB"],
    [890 * 2 ** 20, "890 MiB"],
    [1000 * 2 ** 20, "0.98 GiB"],
    [27.84 * 2 ** 30, "27.8 GiB"],
    [-5.54 * 2 ** 30, "−5.54 GiB"],
  ])("%d is %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it("never prints four digits before the unit", () => {
    for (let bytes = 1; bytes < 2 ** 52; bytes = Math.ceil(bytes * 1.013)) {
      expect(formatBytes(bytes)).toMatch(/^(\d{1,3} B|\d\.\d\d \w+|\d\d\.\d \w+|\d{3} \w+)$/);
    }
  });

  it("shows the unknown as a dash, not as 0", () => {
    expect(formatBytes(null)).toBe("–");
    expect(formatBytes(Number.NaN)).toBe("–");
  });
});

describe("other numbers", () => {
  it("rounds counts that are not final", () => {
    expect([0, 999, 1234, 999_400, 3_312_345].map(formatRoughCount)).toEqual(["0", "999", "1.23 k", "999 k", "3.31 M"]);
  });
  it("signs changes", () => {
    expect(formatByteChange(2 ** 30)).toBe("+1.00 GiB");
    expect(formatByteChange(-(2 ** 30))).toBe("−1.00 GiB");
    expect(formatByteChange(0)).toBe("0 B");
  });
  it("groups thousands", () => {
    expect(formatCount(1234567)).toBe("1,234,567");
    expect(formatCount(-1000)).toBe("−1,000");
    expect(formatCount(999)).toBe("999");
  });
  it("shows small shares honestly", () => {
    expect(formatShare(0.1689)).toBe("16.9 %");
    expect(formatShare(0.0001)).toBe("< 0.1 %");
    expect(formatShare(0)).toBe("0 %");
    expect(formatShare(0.99996)).toBe("> 99.9 %");
    expect(formatShare(1)).toBe("100.0 %");
  });
  it("chooses a unit of time", () => {
    expect(formatDuration(2360000)).toBe("2.36 ms");
    expect(formatDuration(982e6)).toBe("982 ms");
    expect(formatDuration(72.8e9)).toBe("72.8 s");
    expect(formatDuration(3840e9)).toBe("1 h 04 min");
  });
});
