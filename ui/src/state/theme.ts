/** The theme: follows the system unless the reader chose one. Colours become custom properties of the style sheet. */
import { type ThemeName, themes } from "../base/palette.ts";

const storageKey = "memstrata.theme";
export type ThemeChoice = ThemeName | "system";

export function storedChoice(): ThemeChoice {
  try {
    const text = localStorage.getItem(storageKey);
    return text === "light" || text === "dark" ? text : "system";
  } catch {
    // A page from a file may have no storage; it follows the system then.
    return "system";
  }
}

export function storeChoice(choice: ThemeChoice): void {
  try {
    localStorage.setItem(storageKey, choice);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

const systemDark = () => window.matchMedia("(prefers-color-scheme: dark)");

export function resolveTheme(choice: ThemeChoice): ThemeName {
  return choice === "system" ? (systemDark().matches ? "dark" : "light") : choice;
}

export function onSystemChange(listener: () => void): void {
  systemDark().addEventListener("change", listener);
}

export function applyTheme(name: ThemeName): void {
  const root = document.documentElement;
  root.dataset.theme = name;
  root.style.colorScheme = name;
  for (const [colour, value] of Object.entries(themes[name])) {
    const property = colour.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    root.style.setProperty(`--ms-${property}`, value);
  }
}
