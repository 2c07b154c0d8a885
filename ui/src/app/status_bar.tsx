/** The cursor in numbers, and at the right what was merged or left out. */
import { useEffect } from "preact/hooks";
import { formatBytes, formatCount, formatDuration } from "../base/units.ts";
import type { Cursor } from "../data/types.ts";
import { useApp, useJson } from "../state/context.ts";

const announceAfterMs = 300;

export function StatusBar({ showsRun }: { showsRun: boolean }) {
  const app = useApp();
  const heap = app.heap.value;
  const seq = app.cursorSeq.value;
  const { value, error, isCurrent } = useJson<Cursor>("cursor", showsRun ? { heap: heap.index, seq } : null);
  const cursor = isCurrent ? value : null;
  const phase = cursor
    ? [cursor.step === null ? null : `step ${cursor.step}`, cursor.phase].filter(Boolean).join(", ")
    : "";
  useEffect(() => {
    if (!cursor) return;
    const timer = setTimeout(() => {
      app.announcement.value = `Event ${formatCount(seq)}, ${phase ? `${phase}, ` : ""}live ${formatBytes(cursor.live_bytes)}`;
    }, announceAfterMs);
    return () => clearTimeout(timer);
  }, [cursor, seq]);
  const { reduced } = app.client.source;
  const left = reduced.length > 0 ? "reduced report: see Sources" : "";
  const note = [app.reductionNote.value, left].filter(Boolean).join(" · ");
  return (
    <footer class="ms-status">
      {showsRun && (
        <>
          <span>
            cursor <strong>{formatCount(seq)}</strong> of {formatCount(heap.event_count)}
          </span>
          {cursor?.offset_ns !== null && cursor && app.hasTime(heap) && <span>{formatDuration(cursor.offset_ns)}</span>}
          {phase && <span>{phase}</span>}
          {cursor && <CursorSizes cursor={cursor} />}
          {cursor && cursor.seq !== seq && (
            <span class="ms-quiet">figures of event {formatCount(cursor.seq)}, the nearest that the report keeps</span>
          )}
          {error && <span class="ms-quiet">{error.message}</span>}
          {cursor?.event?.kind === "oom" && (
            <span class="ms-status__oom">✕ out of memory here: asked {formatBytes(cursor.event.size_bytes)}</span>
          )}
        </>
      )}
      <span class="ms-status__note" title={note}>
        {note}
      </span>
    </footer>
  );
}

function CursorSizes({ cursor }: { cursor: Cursor }) {
  const sizes: [string, number | null][] = [
    ["live", cursor.live_bytes],
    ["block", cursor.block_bytes],
    ["reserved", cursor.reserved_bytes],
    ["idle", cursor.idle_bytes],
  ];
  return (
    <>
      {sizes
        // What this kind of recording never knows is no figure of an event.
        .filter(([, bytes]) => bytes !== null)
        .map(([name, bytes]) => (
          <span key={name} title={`${formatCount(bytes)} B`}>
            {name} <strong>{formatBytes(bytes)}</strong>
          </span>
        ))}
    </>
  );
}
