/** The small square of a fill; an inner edge keeps pale fills visible. */
import type { Fill } from "../base/palette.ts";

export function Swatch({ fill }: { fill: Fill }) {
  return (
    <span
      class={`ms-swatch ${fill.hatched ? "ms-swatch--hatched" : ""}`}
      style={{ backgroundColor: fill.fill }}
      aria-hidden="true"
    />
  );
}
