/**
 * The reading guide of the marks, for the page: the sections of docs/explanation/marks.md, which is the one source of these texts.
 * A section is named after its kind, or after several: `## head_gradient, embedding_gradient`.
 */
import guideText from "../../../docs/explanation/marks.md?raw";

export interface GuidePiece {
  kind: "text" | "code" | "emphasis";
  text: string;
}

/** The paragraphs of a section, each in pieces. */
export type GuideSection = readonly (readonly GuidePiece[])[];

const pieceForm = /`([^`]+)`|\*([^*]+)\*|\[([^\]]+)\]\([^)]*\)/g;

/** Code and emphasis apart; of a link only its words, because a report has no other pages. */
function piecesOf(paragraph: string): GuidePiece[] {
  const pieces: GuidePiece[] = [];
  const add = (kind: GuidePiece["kind"], text: string) => {
    if (text !== "") pieces.push({ kind, text });
  };
  let from = 0;
  for (const match of paragraph.matchAll(pieceForm)) {
    add("text", paragraph.slice(from, match.index));
    const [whole, code, emphasis, link] = match;
    add(code ? "code" : emphasis ? "emphasis" : "text", code ?? emphasis ?? link ?? "");
    from = match.index + whole.length;
  }
  add("text", paragraph.slice(from));
  return pieces;
}

export function parseGuide(text: string): Map<string, GuideSection> {
  const sections = new Map<string, GuideSection>();
  for (const part of text.split(/^## /m).slice(1)) {
    const [title = "", ...body] = part.split("\n");
    const paragraphs = body.join("\n").split(/\n\s*\n/);
    const section = paragraphs
      .map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, " "))
      .filter((paragraph) => paragraph !== "")
      .map(piecesOf);
    for (const kind of title.split(",")) sections.set(kind.trim(), section);
  }
  return sections;
}

const guide = parseGuide(guideText);

/** What a mark of this kind is and how it is read; empty where the guide does not know it. */
export function guideOf(kind: string): GuideSection {
  return guide.get(kind) ?? [];
}
