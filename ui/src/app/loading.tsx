/** The page before there is a session: what is being read, or why it cannot be. */
import { fileName } from "../base/text.ts";
import { formatBytes, formatCount, formatDuration, formatRoughCount } from "../base/units.ts";
import { expectedEvents } from "../data/progress.ts";
import type { Progress } from "../data/types.ts";
import { Mark } from "./mark.tsx";

/** What is known of the reading so far. */
function progressText(progress: Progress, eventsFrom: number): string {
  const { read_bytes: read, total_bytes: total, event_count: events } = progress;
  const time = formatDuration(progress.elapsed_ms * 1e6);
  if (read === null) return time;
  const counted = events === null || events === 0 ? "" : ` with ${formatCount(events)} events`;
  if (total !== null && read >= total)
    return `All of ${formatBytes(total)}${counted} is read. Putting it in order, ${time}.`;
  const size = `${formatBytes(read)}${total === null ? "" : ` of ${formatBytes(total)}`}`;
  if (counted === "") return `${size}, ${time}`;
  const about = expectedEvents(progress, eventsFrom);
  const expected = about === null ? "" : ` of about ${formatRoughCount(about)}`;
  return `${formatRoughCount(events!)} events${expected}, ${size}, ${time}`;
}

interface LoadingProps {
  progress: Progress | null;
  /** How much was read before the first event. */
  eventsFrom: number;
  error: string | null;
}

export function Loading({ progress, eventsFrom, error }: LoadingProps) {
  const share =
    progress?.total_bytes && progress.read_bytes !== null
      ? Math.min(1, progress.read_bytes / progress.total_bytes)
      : null;
  return (
    <main class="ms-start">
      <header class="ms-start__head">
        <Mark /> memstrata
      </header>
      {error ? (
        <div class="ms-notice" role="alert">
          <h1 class="ms-notice__title">
            {progress?.file ? `${progress.file} cannot be shown.` : "There is nothing to show."}
          </h1>
          <p class="ms-notice__text">{error}</p>
        </div>
      ) : (
        <div class="ms-notice" role="status">
          <h1 class="ms-notice__title">
            Reading {progress && fileName(progress.file)}
            {(progress?.file_count ?? 1) > 1 && `, one of ${formatCount(progress!.file_count)} files`}
          </h1>
          {share !== null && (
            <div class="ms-start__bar">
              <div class="ms-start__done" style={{ width: `${share * 100}%` }} />
            </div>
          )}
          <p class="ms-notice__text">{progress && progressText(progress, eventsFrom)}</p>
        </div>
      )}
    </main>
  );
}
