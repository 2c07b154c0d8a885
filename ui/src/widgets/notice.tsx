/** The states in which there is nothing to draw: empty, error, loading. Always a sentence that says why and what to do. */
import type { ComponentChildren } from "preact";

export function Notice({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="ms-notice">
      <p class="ms-notice__title">{title}</p>
      {children && <div class="ms-notice__text">{children}</div>}
    </div>
  );
}

export function ErrorNotice({ error }: { error: Error }) {
  return (
    <div class="ms-notice" role="alert">
      <p class="ms-notice__title">This cannot be shown.</p>
      <p class="ms-notice__text">{error.message}</p>
    </div>
  );
}

export function LoadingNotice({ what }: { what: string }) {
  return (
    <p class="ms-loading" role="status">
      {what}
    </p>
  );
}
