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

interface CopyButtonProps {
  label: string;
  /** What is copied, where the label alone does not say it. */
  about?: string;
  /** Made when it is asked for; it may be large. */
  text: () => string;
  plain?: boolean;
}

export function CopyButton({ label, about, text, plain }: CopyButtonProps) {
  const app = useApp();
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text());
    setDone(true);
    app.announcement.value = "Copied.";
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      class={plain ? "ms-link" : "ms-button"}
      aria-label={about && !done ? `${label}: ${about}` : undefined}
      onClick={copy}
    >
      {done ? "Copied" : label}
    </button>
  );
}
