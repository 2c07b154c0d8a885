/** Copies a text that is made when it is asked for, and says so. */
import { useState } from "preact/hooks";
import { useApp } from "../state/context.ts";

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // A page that was opened from a file has no clipboard object in some browsers.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** @param text made when it is asked for; it may be large */
export function CopyButton({ label, text, plain }: { label: string; text: () => string; plain?: boolean }) {
  const app = useApp();
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text());
    setDone(true);
    app.announcement.value = "Copied.";
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class={plain ? "ms-link" : "ms-button"} onClick={copy}>
      {done ? "Copied" : label}
    </button>
  );
}
