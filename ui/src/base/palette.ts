/**
 * Every colour of the page, once, for both themes. The style sheet gets them as custom properties, the canvas reads them directly.
 * Categories own the hues; everything else is neutral. palette.test.ts proves that neighbours stay apart for colour-blind readers.
 */
export type ThemeName = "light" | "dark";

const neutral = {
  light: {
    bg: "#F4F5F7",
    surface: "#FFFFFF",
    sunken: "#EBEDF0",
    line: "#DFE3E8",
    line2: "#C2C9D1",
    grid: "#ECEFF2",
    ink: "#171C22",
    ink2: "#424C57",
    ink3: "#5E6974",
    accent: "#0A58B0",
    accentBg: "#E3EEFB",
    hover: "#EEF1F4",
    oom: "#B81428",
    warn: "#8A5A00",
    ok: "#1B7038",
    phase1: "#E6E9ED",
    phase2: "#D3D9E0",
    phase3: "#BFC8D2",
    hatch: "#DDE1E6",
    heap: "#4B6076",
    stack: "#A9B8C8",
    grew: "#B3541E",
    shrank: "#2F6DB0",
  },
  dark: {
    bg: "#0F1216",
    surface: "#15191E",
    sunken: "#0B0E11",
    line: "#272D35",
    line2: "#3C4550",
    grid: "#1F252B",
    ink: "#E8ECF0",
    ink2: "#B4BDC7",
    ink3: "#8D98A4",
    accent: "#7DB8FF",
    accentBg: "#18304D",
    hover: "#1C2127",
    oom: "#FF7A80",
    warn: "#E0B04A",
    ok: "#5CC883",
    phase1: "#20262D",
    phase2: "#2B333C",
    phase3: "#3A444F",
    hatch: "#2A3138",
    heap: "#A9B8C8",
    stack: "#46566A",
    grew: "#E58A4E",
    shrank: "#6FA8E0",
  },
} as const;

export type ColourName = keyof (typeof neutral)["light"];
export type Theme = Readonly<Record<ColourName, string>> & { name: ThemeName };

export const themes: Record<ThemeName, Theme> = {
  light: { ...neutral.light, name: "light" },
  dark: { ...neutral.dark, name: "dark" },
};

/** A fill and the text colour that can be read on it. */
export interface Fill {
  fill: string;
  text: string;
  hatched: boolean;
}

const darkText = "#11151A";
const white = "#FFFFFF";

/** In stacking order from the bottom: what never moves first. */
export const categoryOrder = [
  "parameter",
  "optimizer_state",
  "kv_cache",
  "workspace",
  "communication",
  "input",
  "gradient",
  "activation",
  "temporary",
  "logits",
  "unknown",
] as const;

const categoryFills: Record<ThemeName, readonly (readonly [string, string])[]> = {
  light: [
    ["#314593", white],
    ["#A2ABF4", darkText],
    ["#499491", darkText],
    ["#5B4F24", white],
    ["#989C72", darkText],
    ["#7DB4C1", darkText],
    ["#477862", white],
    ["#E8C367", darkText],
    ["#CF7235", darkText],
    ["#783560", white],
    ["#CECED0", darkText],
  ],
  dark: [
    ["#3977C4", white],
    ["#A0A9E5", darkText],
    ["#5EB8AA", darkText],
    ["#634023", white],
    ["#7D986A", darkText],
    ["#A3D3E6", darkText],
    ["#3C6D5D", white],
    ["#F0C465", darkText],
    ["#D37325", darkText],
    ["#9E4D8C", white],
    ["#464C53", white],
  ],
};

/** Two categories share the fill of a relative and are told apart by a hatch. */
const hatchedRelatives: Record<string, string> = { buffer: "parameter", autocast_copy: "activation" };

/** Place in stacking order; a relative that is hatched stands beside its own, what is not known at the end. */
export function categoryRank(category: string): number {
  const relative = hatchedRelatives[category];
  const index = (categoryOrder as readonly string[]).indexOf(relative ?? category);
  if (index < 0) return categoryOrder.length;
  return relative === undefined ? index : category === "buffer" ? index + 0.5 : index - 0.5;
}

/** The nine largest groups of another grouping take these categories' colours, in this order; the rest is unknown. */
const groupColourOrder = [0, 7, 6, 9, 1, 8, 2, 5, 4];

const ramps: Record<ThemeName, readonly string[]> = {
  light: ["#DCE3F2", "#BECAE6", "#9DAFD8", "#7C93C8", "#5C77B5", "#3F5C9E", "#27427F"],
  dark: ["#22304D", "#2E446D", "#3C5A8E", "#4D72AE", "#6A8EC6", "#92AEDA", "#C0D1EE"],
};

function fillAt(theme: ThemeName, index: number, hatched: boolean): Fill {
  const [fill, text] = categoryFills[theme][index]!;
  return { fill, text, hatched };
}

export function categoryFill(theme: ThemeName, category: string | null): Fill {
  const unknownIndex = categoryOrder.length - 1;
  if (category === "stack")
    return { fill: themes[theme].stack, text: theme === "light" ? darkText : white, hatched: false };
  if (category === "heap" || category === "operation")
    return { fill: themes[theme].heap, text: theme === "light" ? white : darkText, hatched: false };
  const relative = category === null ? undefined : hatchedRelatives[category];
  const index = categoryOrder.indexOf((relative ?? category ?? "unknown") as (typeof categoryOrder)[number]);
  return fillAt(theme, index < 0 ? unknownIndex : index, relative !== undefined);
}

/** The fill of a group of a tile. `rank` is its place among the groups, largest at the peak first. */
export function groupFill(theme: ThemeName, grouping: string, key: string, rank: number): Fill {
  if (grouping === "category") return categoryFill(theme, key);
  const ramp = /^(?:size|lifetime)_(\d)$/.exec(key);
  if (ramp) {
    const step = Number(ramp[1]);
    const lightFill = theme === "light" ? step < 4 : step >= 4;
    return { fill: ramps[theme][step] ?? ramps[theme][6]!, text: lightFill ? darkText : white, hatched: false };
  }
  if (key === "rest" || rank >= groupColourOrder.length) return categoryFill(theme, "unknown");
  return fillAt(theme, groupColourOrder[rank]!, false);
}

const categoryLabels: Record<string, string> = {
  parameter: "parameters",
  buffer: "buffers",
  optimizer_state: "optimizer state",
  kv_cache: "KV cache",
  workspace: "workspaces",
  communication: "communication",
  input: "inputs",
  gradient: "gradients",
  activation: "activations",
  autocast_copy: "autocast copies",
  temporary: "temporaries",
  logits: "logits",
  stack: "stack",
  heap: "heap",
  operation: "operations",
  before_recording: "before recording",
  unnamed: "no operation",
  other: "smaller holders",
  unknown: "unknown",
};

export function categoryLabel(category: string | null | undefined): string {
  return category === null || category === undefined ? "unknown" : (categoryLabels[category] ?? category);
}

export function isCategory(key: string): boolean {
  return Object.hasOwn(categoryLabels, key);
}

/** Tone of a phase row: 1, 2 or 3. Phases are neutral and always named. */
export function phaseTone(phase: string): ColourName {
  if (["input", "forward", "loss", "prefill", "decode", "eval"].includes(phase)) return "phase1";
  return ["backward", "recompute"].includes(phase) ? "phase2" : "phase3";
}
