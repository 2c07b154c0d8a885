/** Names of the groups; a click hides one, a click with alt leaves it alone. Colours are never the only sign: bands carry names too. */
import type { Fill } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";
import type { Group } from "../data/types.ts";
import { useApp } from "../state/context.ts";
import { Swatch } from "./swatch.tsx";

function groupTitle({ label, bytes_at_peak }: Group): string {
  return `${label}: ${formatBytes(bytes_at_peak)} at the peak.`;
}

export function Legend({
  groups,
  fills,
  marks,
}: {
  groups: readonly Group[];
  fills: readonly Fill[];
  marks: readonly string[];
}) {
  const app = useApp();
  const hidden = app.hidden.value;
  // What is left when a group is hidden is laid out again; a report that keeps a part of the blocks cannot do that.
  const canHide = app.client.source.holdsWholeRun(app.heapIndex.value);
  const toggle = (key: string, isolate: boolean) => {
    const others = groups.map((group) => String(group.id)).filter((other) => other !== key);
    const isolated = !hidden.includes(key) && others.every((other) => hidden.includes(other));
    if (isolate) app.hidden.value = isolated ? [] : others;
    else app.hidden.value = hidden.includes(key) ? hidden.filter((other) => other !== key) : [...hidden, key];
  };
  return (
    <div class="ms-legend">
      {!canHide &&
        groups.map((group, index) => (
          <span key={group.key} class="ms-legend__item ms-legend__item--mark" title={groupTitle(group)}>
            <Swatch fill={fills[index]!} />
            {group.label}
          </span>
        ))}
      {canHide &&
        groups.map((group, index) => (
          <button
            type="button"
            key={group.key}
            class={`ms-legend__item ${hidden.includes(String(group.id)) ? "ms-legend__item--off" : ""}`}
            aria-pressed={!hidden.includes(String(group.id))}
            title={`${groupTitle(group)} Click hides, alt-click isolates.`}
            onClick={(event) => toggle(String(group.id), event.altKey)}
          >
            <Swatch fill={fills[index]!} />
            {group.label}
          </button>
        ))}
      {marks.includes("block") && (
        <span class="ms-legend__item ms-legend__item--mark">
          <span class="ms-legend__line" aria-hidden="true" />
          block
        </span>
      )}
      {marks.includes("reserved") && (
        <span class="ms-legend__item ms-legend__item--mark">
          <span class="ms-legend__dash" aria-hidden="true" />
          reserved
        </span>
      )}
      {marks.includes("idle") && (
        <span class="ms-legend__item ms-legend__item--mark">
          <span class="ms-legend__hatch" aria-hidden="true" />
          idle in cache
        </span>
      )}
      {marks.includes("hairline") && (
        <span class="ms-legend__item ms-legend__item--mark">
          <span class="ms-legend__hairline" aria-hidden="true" />
          edge of a block
        </span>
      )}
    </div>
  );
}
