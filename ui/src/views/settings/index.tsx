/** Settings: how the page looks. The theme is kept by the browser, the others in the address. */
import { useState } from "preact/hooks";
import { useApp } from "../../state/context.ts";
import { resolveTheme, storeChoice, storedChoice } from "../../state/theme.ts";
import { Segmented } from "../../widgets/segmented.tsx";
import { BandsControl, GroupingControl, OnOffControl } from "../../widgets/view_controls.tsx";
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
        <GroupingControl label="Colour of the timeline" />
        <BandsControl label="Bands of the timeline" />
        <OnOffControl label="Labels of the timeline" isOn={app.showLabels} />
        <OnOffControl label="Scale to the capacity" isOn={app.capacityScale} />
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

export const settingsView: View = {
  id: "settings",
  title: "Settings",
  group: "text",
  icon: "M1.500 4.500h8M12.500 4.500h2M1.500 11.500h2M6.500 11.500h8M9.500 2.500h3v4h-3ZM3.500 9.500h3v4h-3Z",
  unmet: () => null,
  followsRun: false,
  component: Settings,
};
