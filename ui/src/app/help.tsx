/** Keys and the meaning of what is drawn. */
import { Dialog } from "../widgets/dialog.tsx";
import { keyHelp } from "./keyboard.ts";

const words: readonly (readonly [string, string])[] = [
  ["live", "bytes that the program asked for and has not freed"],
  ["block", "the same with the allocator's rounding"],
  ["reserved", "bytes that the allocator holds from the device"],
  ["idle", "reserved and not in use: free for the next allocation of this process, and for nobody else"],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and words" onClose={onClose}>
      <div class="ms-help__columns">
        <dl class="ms-facts">
          {keyHelp.map(([keys, what]) => (
            <div class="ms-facts__row" key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <dl class="ms-facts">
          {words.map(([word, meaning]) => (
            <div class="ms-facts__row" key={word}>
              <dt>{word}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </div>
      <p class="ms-quiet">
        Pointer: wheel zooms, drag moves, shift-drag measures, click pins, double click fits the step.
      </p>
    </Dialog>
  );
}
