// Checks that imports follow base <- data <- state <- gfx, widgets <- views <- app, and that no view imports another view.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../src", import.meta.url));
const allowed = {
  base: ["base"],
  data: ["base", "data"],
  state: ["base", "data", "state"],
  gfx: ["base", "data", "state", "gfx"],
  widgets: ["base", "data", "state", "gfx", "widgets"],
  views: ["base", "data", "state", "gfx", "widgets", "views"],
  app: ["base", "data", "state", "gfx", "widgets", "views", "app"],
};

const problems = [];
for (const file of readdirSync(root, { recursive: true })) {
  if (!/\.tsx?$/.test(file)) continue;
  const [layer, folder] = file.split("/");
  const text = readFileSync(join(root, file), "utf8");
  for (const [, path] of text.matchAll(/(?:from|import)\s+"([^"]+)"/g)) {
    // Texts of the documentation are no code of a layer.
    if (!path.startsWith(".") || path.endsWith(".md?raw")) continue;
    const target = relative(root, normalize(join(root, dirname(file), path)));
    const [targetLayer, targetFolder] = target.split("/");
    if (!allowed[layer]?.includes(targetLayer)) problems.push(`${file}: layer ${layer} must not import ${target}`);
    const isView = layer === "views" && file.split("/").length > 2;
    if (isView && targetLayer === "views" && targetFolder !== folder && target.split("/").length > 2)
      problems.push(`${file}: a view must not import another view (${target})`);
  }
}
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
