import { defineConfig } from "vitest/config";

// One script and one style sheet with fixed names: the engine embeds them, and the report writer inlines them.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "assets/memstrata.js",
        assetFileNames: "assets/memstrata[extname]",
        codeSplitting: false,
      },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
