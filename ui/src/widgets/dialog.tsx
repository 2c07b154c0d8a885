/** A panel over the page that has the keyboard until it is closed. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  /** True for sentences, which read better in a narrow column. */
  isText?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, isText = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      class={isText ? "ms-dialog ms-dialog--text" : "ms-dialog"}
      ref={dialog}
      onClose={onClose}
      aria-labelledby={titleId}
    >
      <div class="ms-panel__head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="ms-button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}
