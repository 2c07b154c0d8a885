/** The frames of a stack, innermost first; plumbing is folded until it is asked for. */
import { useState } from "preact/hooks";
import { plural } from "../base/text.ts";
import { framePlace, frameText } from "../data/stack_frames.ts";
import type { StackFrame } from "../data/types.ts";
import { MiddleCut } from "./middle_cut.tsx";

export function StackList({ title, frames, empty }: { title: string; frames: readonly StackFrame[]; empty: string }) {
  const [all, setAll] = useState(false);
  const useful = frames.filter((frame) => frame.useful !== false);
  const shown = all || useful.length === 0 ? frames : useful;
  const folded = frames.length - useful.length;
  return (
    <section class="ms-panel">
      <div class="ms-panel__head">
        <h3>{title}</h3>
        {folded > 0 && useful.length > 0 && (
          <button type="button" class="ms-link" onClick={() => setAll(!all)}>
            {all ? "fold plumbing" : `${folded} more ${plural(folded, "frame")}`}
          </button>
        )}
      </div>
      {frames.length === 0 ? (
        <p class="ms-panel__text">{empty}</p>
      ) : (
        <ol class="ms-stack">
          {shown.map((frame, index) => (
            <li key={`${index} ${frameText(frame)}`} class="ms-stack__frame" title={frameText(frame)}>
              <span class={framePlace(frame) ? "ms-stack__function" : "ms-stack__function ms-stack__function--alone"}>
                <MiddleCut text={frame.function} />
              </span>
              {framePlace(frame) && <span class="ms-stack__file">{framePlace(frame)}</span>}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
