/** Files dropped anywhere on the page are added to the session of the running server. */
import { useEffect, useState } from "preact/hooks";
import { useApp } from "../state/context.ts";

const pollMs = 150;

export function DropZone() {
  const app = useApp();
  const [text, setText] = useState<string | null>(null);
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
      try {
        for (const file of files) {
          setText(`Reading ${file.name}.`);
          let progress = await app.client.source.addFile(file);
          while (progress.state === "reading") {
            await new Promise((resolve) => setTimeout(resolve, pollMs));
            progress = await app.client.source.progress();
          }
          if (progress.state === "failed") throw new Error(progress.error?.message ?? `${file.name} cannot be read.`);
        }
        // A new session has new answers to every question; starting over is the honest way to show them.
        location.reload();
      } catch (error) {
        setText((error as Error).message);
        setTimeout(() => setText(null), 8000);
      }
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
  return text === null ? null : (
    <div class="ms-drop" role="status">
      {text}
    </div>
  );
}
