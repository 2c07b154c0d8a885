/** Settings: how the page looks. The theme is kept by the browser, the others in the address. */
import { useState } from "preact/hooks";
import { useApp } from "../../state/context.ts";
import { resolveTheme, storeChoice, storedChoice } from "../../state/theme.ts";
import { type Grouping, groupings } from "../../state/url.ts";
import { Segmented } from "../../widgets/segmented.tsx";
import type { View } from "../view.ts";
import "./style.css";

function Settings() {
  const app = useApp();
  return (
    <>
      <div class="ms-viewbar">
        <h1>Settings</h1>
        <span class="ms-quiet">memstrata {app.session.value.version}</span>
      </div>
      <div class="ms-textview ms-settings">
        <ThemeControl />
        <p class="ms-quiet">Kept by this browser, for every page of memstrata.</p>
        <TimelineControls />
        <p class="ms-quiet">Kept in the address: a link shows the same.</p>
      </div>
    </>
  );
}

function ThemeControl() {
  const app = useApp();
  const [choice, setChoice] = useState(storedChoice());
  return (
    <Segmented
      label="Theme"
      value={choice}
      onChange={(value) => {
        storeChoice(value);
        setChoice(value);
        app.themeName.value = resolveTheme(value);
      }}
      choices={[
        { value: "system", label: "as the system" },
        { value: "light", label: "light" },
        { value: "dark", label: "dark" },
      ]}
    />
  );
}

const onOff = [
  { value: "on", label: "on" },
  { value: "off", label: "off" },
] as const;

function TimelineControls() {
  const app = useApp();
  return (
    <>
      <Segmented
        label="Colour of the timeline"
        value={app.grouping.value}
        onChange={(grouping: Grouping) => app.setGrouping(grouping)}
        choices={groupings.map((value) => ({ value, label: value }))}
      />
      <Segmented
        label="Bands of the timeline"
        value={app.order.value}
        onChange={(order) => {
          app.order.value = order;
        }}
        choices={[
          { value: "grouped", label: "grouped" },
          { value: "allocation", label: "by order" },
        ]}
      />
      <Segmented
        label="Labels of the timeline"
        value={app.showLabels.value ? "on" : "off"}
        onChange={(value) => {
          app.showLabels.value = value === "on";
        }}
        choices={onOff}
      />
      <Segmented
        label="Scale to the capacity"
        value={app.capacityScale.value ? "on" : "off"}
        onChange={(value) => {
          app.capacityScale.value = value === "on";
        }}
        choices={onOff}
      />
    </>
  );
}

export const settingsView: View = {
  id: "settings",
  title: "Settings",
  group: "text",
  icon: "M1.500 4.500h8M12.500 4.500h2M1.500 11.500h2M6.500 11.500h8M9.500 2.500h3v4h-3ZM3.500 9.500h3v4h-3Z",
  unmet: () => null,
  followsRun: false,
  component: Settings,
};
