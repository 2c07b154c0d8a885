/** Files dropped anywhere on the page are added to the session of the running server. */
import { useEffect, useState } from "preact/hooks";
import type { DataSource } from "../data/source.ts";
import { useApp } from "../state/context.ts";
import { Dialog } from "../widgets/dialog.tsx";

const pollMs = 250;

/** What became of files that were dropped: how many are in the session now, and a sentence for each that is not. */
interface Added {
  count: number;
  problems: string[];
}

async function addAll(source: DataSource, files: readonly File[], say: (text: string) => void): Promise<Added> {
  const added: Added = { count: 0, problems: [] };
  for (const file of files) {
    say(`Reading ${file.name}.`);
    try {
      let progress = await source.addFile(file);
      while (progress.state === "reading") {
        progress = await source.progress(pollMs);
      }
      if (progress.error) throw new Error(progress.error.message);
      added.count += 1;
    } catch (error) {
      added.problems.push(`${file.name} was not added. ${(error as Error).message}`);
    }
  }
  return added;
}

export function DropZone() {
  const app = useApp();
  const [text, setText] = useState<string | null>(null);
  const [added, setAdded] = useState<Added | null>(null);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setText("Drop to add the file to this session.");
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setText(null);
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      void addFiles([...(event.dataTransfer?.files ?? [])]);
    };
    const addFiles = async (files: File[]) => {
      const done = await addAll(app.client.source, files, setText);
      setText(null);
      if (done.problems.length > 0) setAdded(done);
      // A new session has new answers to every question; starting over is the honest way to show them.
      else location.reload();
    };
    document.addEventListener("dragover", onOver);
    document.addEventListener("dragleave", onLeave);
    document.addEventListener("drop", onDrop);
    return () => {
      document.removeEventListener("dragover", onOver);
      document.removeEventListener("dragleave", onLeave);
      document.removeEventListener("drop", onDrop);
    };
  }, []);
  const close = () => (added && added.count > 0 ? location.reload() : setAdded(null));
  return (
    <>
      {added && <Problems problems={added.problems} onClose={close} />}
      {text !== null && (
        <div class="ms-drop" role="status">
          {text}
        </div>
      )}
    </>
  );
}

function Problems({ problems, onClose }: { problems: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title="Files that were not added" isText onClose={onClose}>
      <div role="alert">
        {problems.map((problem) => (
          <p key={problem}>{problem}</p>
        ))}
      </div>
      <p class="ms-quiet">What was open before is still here.</p>
    </Dialog>
  );
}
