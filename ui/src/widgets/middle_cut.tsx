/** A text that is cut in its middle where it does not fit: names and paths of one file begin alike, their ends tell them apart. */
const shortest = 24;
const longestTail = 28;

export function MiddleCut({ text }: { text: string }) {
  if (text.length < shortest) return <span>{text}</span>;
  // Of a path and of an operation of a model only the end tells which it is.
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
