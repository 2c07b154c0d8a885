/** A text that is cut in its middle where it does not fit: names and paths of one file begin alike, their ends tell them apart. */
const shortest = 24;
const longestTail = 28;

/** How much of the end of a path must stay: of a place in a file its name, of an operation of a model all that fits. */
function pathTailAt(text: string): number | null {
  const slash = text.indexOf("/");
  if (slash < 0) return null;
  const place = /[^/]+\.\w+:\d+/.exec(text);
  return place && place.index > 0 ? place.index : null;
}

export function MiddleCut({ text }: { text: string }) {
  if (text.length < shortest) return <span>{text}</span>;
  const place = pathTailAt(text);
  // The folder goes first, letter by letter; the file, its line and its caller go last.
  if (place !== null)
    return (
      <span class="ms-cut">
        <span class="ms-cut__folder">{text.slice(0, place)}</span>
        <span class="ms-cut__place">{text.slice(place)}</span>
      </span>
    );
  // Of an operation of a model only the end tells which it is.
  if (text.includes("/"))
    return (
      <span class="ms-cut--path">
        <bdi>{text}</bdi>
      </span>
    );
  const tail = Math.min(longestTail, Math.floor(text.length / 2));
  return (
    <span class="ms-cut">
      <span class="ms-cut__head">{text.slice(0, -tail)}</span>
      <span class="ms-cut__tail">{text.slice(-tail)}</span>
    </span>
  );
}
