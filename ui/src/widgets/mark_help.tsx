/** What is this? One mark of the run with its page of the reading guide. */
import { type GuidePiece, guideOf } from "../base/mark_guide.ts";
import { formatCount } from "../base/units.ts";
import { useApp } from "../state/context.ts";
import { Dialog } from "./dialog.tsx";

/** The mark that the reader asked about, as a dialog over the page. */
export function MarkHelp() {
  const app = useApp();
  const index = app.helpMark.value;
  const explain = app.explainHeap.value;
  const mark = index === null ? undefined : explain?.marks[index];
  if (!mark) return null;
  const close = () => {
    app.helpMark.value = null;
  };
  const show = () => {
    close();
    app.showOnTimeline(mark.anchor_seq, { begin: mark.begin_seq, end: mark.end_seq });
  };
  return (
    <Dialog title={mark.title} isText onClose={close}>
      <p>
        <strong>{mark.text}</strong>
        {mark.step !== null && `, in step ${formatCount(mark.step)}`}. Events {formatCount(mark.begin_seq)} to{" "}
        {formatCount(mark.end_seq)}.{" "}
        <button type="button" class="ms-link" onClick={show}>
          Show it in the timeline
        </button>
      </p>
      {guideOf(mark.kind).map((paragraph, index) => (
        // Paragraphs have no identity of their own, and do not change while they are shown.
        <p key={index}>{paragraph.map(pieceElement)}</p>
      ))}
    </Dialog>
  );
}

function pieceElement({ kind, text }: GuidePiece) {
  if (kind === "code") return <code class="ms-mono">{text}</code>;
  return kind === "emphasis" ? <strong>{text}</strong> : text;
}

/** Opens the page of a mark; `mark` is its index in the heap. */
export function WhatIsThis({ mark, name }: { mark: number; name: string }) {
  const app = useApp();
  return (
    <button
      type="button"
      class="ms-link"
      aria-label={`What is this? ${name}`}
      onClick={() => {
        app.helpMark.value = mark;
      }}
    >
      What is this?
    </button>
  );
}
