/** The name of a table's row with the colour of its group. */
import type { Fill } from "../base/palette.ts";
import { MiddleCut } from "./middle_cut.tsx";
import { Swatch } from "./swatch.tsx";

export function NamedSwatch({ fill, name }: { fill: Fill; name: string }) {
  return (
    <span class="ms-named">
      <Swatch fill={fill} />
      <strong>
        <MiddleCut text={name} />
      </strong>
    </span>
  );
}
