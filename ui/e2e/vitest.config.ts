import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One browser at a time: the tests look at pictures, and two of them on two cores would only wait for each other.
    fileParallelism: false,
  },
});
