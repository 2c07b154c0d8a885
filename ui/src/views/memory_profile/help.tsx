/** What each element of the memory profile means, and what the numbers of this profile say in words. */
import type { SummaryHeap } from "../../data/types.ts";

const helpTexts: [string, string][] = [
  [
    "Heap list (top of the page)",
    "One entry per memory ID of each host: an allocator of a GPU, a TPU by its number, or host memory.",
  ],
  ["Stack", "Reserved for the programs that run: on TPUs from their start, on GPUs 0."],
  ["Heap", "What the allocator has handed out and not taken back."],
  ["Free", "What it could still hand out. Stack + heap + free is the capacity: its limit, not the size of the device."],
  [
    "Fragmentation",
    "1 − largest free piece / all free pieces of the pool, as the allocator reports it. 0 % means that all of it is one piece.",
  ],
  ["Peak", "The event with the highest stack + heap in this recording; of several equal ones the first."],
  [
    "Heap peak of the lifetime",
    "The highest heap since the allocator was made, also before this recording, without the stack.",
  ],
  ["Largest request that fits", "(1 − fragmentation) × free at the peak, provided the pool has its full size."],
  ["Allocations, frees", "All events of this recording, none sampled away."],
  [
    "Plot",
    "Each event is a step. A column that holds several events shows the highest; the pointer shows all its fields.",
  ],
  [
    "Live at the peak",
    "Everything in use there by operation, shape and type; the rows add up to the peak. What was allocated before the recording has no operation.",
  ],
  [
    "Program at the cursor",
    "The compiled program that ran then, and its static plan. The plan knows no other program; the allocator holds all of them.",
  ],
  [
    "Static plan",
    "A line at what the compiler planned for each run, from the ground up, because it knows that program alone. The run at the cursor shows its whole curve, dashed, in program order, which is not time.",
  ],
  ["Program runs", "When each program ran. A row zooms to it; with this list one finds what was allocated in between."],
];

export function ProfileHelp({ summary }: { summary: SummaryHeap }) {
  const lists: [string, readonly string[]][] = [
    ["What would make room", summary.help?.sentences ?? []],
    ["What this means", summary.notes ?? []],
    ["Where XProf shows something else", summary.xprof_differences ?? []],
  ];
  return (
    <section class="ms-profile__table" aria-label="Meaning">
      {lists
        .filter(([, sentences]) => sentences.length > 0)
        .map(([title, sentences]) => (
          <div key={title} class="ms-profile__text">
            <h2>{title}</h2>
            <ul>
              {sentences.map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </div>
        ))}
      <details class="ms-profile__text">
        <summary>What each element shows</summary>
        <dl class="ms-profile__help">
          {helpTexts.map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}
