import { expect, it } from "vitest";
import { LruCache, roughJsonBytes } from "./lru.ts";

it("forgets the least recently used first", () => {
  const cache = new LruCache<number>(3);
  cache.set("a", 1, 1);
  cache.set("b", 2, 1);
  cache.set("c", 3, 1);
  cache.get("a");
  cache.set("d", 4, 1);
  expect(cache.get("b")).toBeUndefined();
  expect(cache.values().sort()).toEqual([1, 3, 4]);
});

it("counts a replaced entry once and keeps a single oversized one", () => {
  const cache = new LruCache<number>(3);
  cache.set("a", 1, 2);
  cache.set("a", 2, 3);
  expect(cache.size).toBe(3);
  cache.set("big", 9, 50);
  expect(cache.get("a")).toBeUndefined();
  expect(cache.get("big")).toBe(9);
});

it("measures an answer by its texts and values, however deep they lie", () => {
  const row = { name: "x".repeat(1000), bytes: 7, frames: [null, true] };
  const one = roughJsonBytes(row);
  expect(one).toBeGreaterThan(1000);
  expect(roughJsonBytes({ rows: Array.from({ length: 100 }, () => row) })).toBeGreaterThan(100 * one);
  expect(roughJsonBytes(null)).toBeLessThan(100);
});
