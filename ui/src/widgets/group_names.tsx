/** The names of groups beside their fills, where there is nothing to filter. */
import type { ComponentChildren } from "preact";
import type { Fill } from "../base/palette.ts";
import type { Group } from "../data/types.ts";
import { Swatch } from "./swatch.tsx";

interface GroupNamesProps {
  groups: readonly Group[];
  fills: readonly Fill[];
  children?: ComponentChildren;
}

export function GroupNames({ groups, fills, children }: GroupNamesProps) {
  return (
    <div class="ms-legend">
      {groups.map((group, index) => (
        <span key={group.key} class="ms-legend__item ms-legend__item--mark">
          <Swatch fill={fills[index]!} /> {group.label}
        </span>
      ))}
      {children}
    </div>
  );
}
