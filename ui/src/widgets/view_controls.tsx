/** Controls of how the pictures look, for the views that show them and for Settings. */
import type { Signal } from "@preact/signals";
import { useApp } from "../state/context.ts";
import { type Grouping, groupings } from "../state/url.ts";
import { type Choice, Segmented } from "./segmented.tsx";

const needsStacks = new Set<Grouping>(["stack", "module", "file", "function"]);

/** Each grouping that is offered, or why this file cannot have it. */
export function groupingChoices(offered: readonly Grouping[], hasStacks: boolean): Choice<Grouping>[] {
  return offered.map((value) => ({
    value,
    label: value,
    unmet: needsStacks.has(value) && !hasStacks ? "This file has no stacks." : undefined,
  }));
}

interface GroupingControlProps {
  label: string;
  offered?: readonly Grouping[];
}

export function GroupingControl({ label, offered = groupings }: GroupingControlProps) {
  const app = useApp();
  return (
    <Segmented
      label={label}
      value={app.grouping.value}
      onChange={(grouping) => app.setGrouping(grouping)}
      choices={groupingChoices(offered, app.heap.value.has.includes("stacks"))}
    />
  );
}

export function BandsControl({ label }: { label: string }) {
  const app = useApp();
  return (
    <Segmented
      label={label}
      value={app.order.value}
      onChange={(order) => {
        app.order.value = order;
      }}
      choices={[
        { value: "grouped", label: "grouped" },
        { value: "allocation", label: "by order" },
      ]}
    />
  );
}

export function OnOffControl({ label, isOn }: { label: string; isOn: Signal<boolean> }) {
  return (
    <Segmented
      label={label}
      value={isOn.value ? "on" : "off"}
      onChange={(value) => {
        isOn.value = value === "on";
      }}
      choices={[
        { value: "on", label: "on" },
        { value: "off", label: "off" },
      ]}
    />
  );
}
