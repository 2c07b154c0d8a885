/** Mark, source and heap, search, link, export, help. */
import { useContext, useState } from "preact/hooks";
import { fileName, plural } from "../base/text.ts";
import { formatBytes, formatCount } from "../base/units.ts";
import { nameInFile } from "../data/heap_names.ts";
import { useApp } from "../state/context.ts";
import { CopyButton } from "../widgets/copy_button.tsx";
import { download, ExportContext, scenePng, sceneSvg } from "../widgets/export_scene.ts";
import { HeapCombo } from "../widgets/heap_combo.tsx";
import { Mark } from "./mark.tsx";
import { SearchBox } from "./search_box.tsx";

export function Header({ onHelp }: { onHelp: () => void }) {
  const app = useApp();
  return (
    <header class="ms-header">
      <span class="ms-header__mark">
        <Mark />
        <span class="ms-header__name">memstrata</span>
      </span>
      <HeapPicker />
      {app.client.source.holdsRun(app.heapIndex.value) ? <SearchBox /> : <span class="ms-header__gap" />}
      <CopyButton label="Copy link" text={() => `${location.href.split("#")[0]}#${app.savedText.peek()}`} />
      <ExportMenu />
      <button type="button" class="ms-button" onClick={onHelp} aria-label="Help and keys" title="Help and keys (?)">
        ?
      </button>
    </header>
  );
}

/** From this many heaps on, the list is found by typing. */
const manyHeaps = 16;

/** One list of all heaps, by source. */
function HeapPicker() {
  const app = useApp();
  const { sources, heaps, simulated } = app.session.value;
  const heap = app.heap.value;
  const source = sources[heap.source] ?? sources[0];
  const capacity = heap.capacity_bytes === null ? "" : ` · ${formatBytes(heap.capacity_bytes)}`;
  return (
    <>
      <span class="ms-header__source" title={source?.file}>
        {source ? <strong>{fileName(source.file)}</strong> : "no recording"} {source?.title}
        {heaps.length > 0 && ` · ${formatCount(heap.event_count)} ${plural(heap.event_count, "event")}`}
        {simulated && <em class="ms-header__simulated"> simulated card</em>}
      </span>
      {heaps.length >= manyHeaps && (
        <HeapCombo heaps={heaps} chosen={heap} onChoose={(index) => app.selectHeap(index)} />
      )}
      {heaps.length > 0 && heaps.length < manyHeaps && (
        <select
          class="ms-select"
          aria-label="Heap"
          value={String(heap.index)}
          onChange={(event) => app.selectHeap(Number(event.currentTarget.value))}
        >
          {sources.map((one, index) => {
            const own = heaps.filter((candidate) => candidate.source === index);
            if (own.length === 0) return null;
            return (
              <optgroup key={`${index} ${one.file}`} label={one.file}>
                {own.map((candidate) => (
                  <option key={candidate.index} value={String(candidate.index)}>
                    {nameInFile(candidate, one.file)}
                    {candidate.device ? ` ${candidate.device}` : ""} · {candidate.kind} memory
                    {candidate.index === heap.index ? capacity : ` · peak ${formatBytes(candidate.peak_live_bytes)}`}
                  </option>
                ))}
              </optgroup>
            );
          })}
        </select>
      )}
    </>
  );
}

function ExportMenu() {
  const app = useApp();
  const slot = useContext(ExportContext);
  const [open, setOpen] = useState(false);
  const scene = slot.value;
  const run = async (format: "png" | "svg") => {
    setOpen(false);
    if (!scene) return;
    const blob = format === "png" ? await scenePng(scene) : new Blob([sceneSvg(scene)], { type: "image/svg+xml" });
    download(`${scene.name}.${format}`, blob);
    app.announcement.value = `Saved ${scene.name}.${format}.`;
  };
  return (
    <div class="ms-menu">
      <button
        type="button"
        class="ms-button"
        aria-expanded={open}
        disabled={scene === null}
        title={scene ? "Save the picture that is shown" : "This view has no picture; its tables copy as TSV."}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
      >
        Export <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div class="ms-menu__list">
          <button type="button" onClick={() => run("png")}>
            Picture as PNG
          </button>
          <button type="button" onClick={() => run("svg")}>
            Picture as SVG
          </button>
        </div>
      )}
    </div>
  );
}
