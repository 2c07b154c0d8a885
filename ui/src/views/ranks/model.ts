/** Ranks as rows and bars; pure. */
import { categoryLabel, categoryRank, isCategory } from "../../base/palette.ts";
import { fileName } from "../../base/text.ts";
import type { Rank } from "../../data/job_types.ts";

/** "rank 3", else the name of the file. */
export function rankName(rank: Rank): string {
  return rank.rank === null ? fileName(rank.file) : `rank ${rank.rank}`;
}

/** "pp 1, tp 3" */
export function coordinateText(rank: Rank): string {
  return Object.entries(rank.coordinates)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

export interface RankPart {
  category: string;
  bytes: number;
}

/** The peak of a rank by category, in the order in which all pictures stack them. */
export function rankParts(rank: Rank): RankPart[] {
  return [...rank.at_peak].sort((one, two) => categoryRank(one.category) - categoryRank(two.category));
}

/** What a rank is compared with: with the one in the middle, of two with the other. */
export function referenceName(count: number): string {
  return count === 2 ? "the other" : "the middle";
}

/** `− 20.0 MiB (optimizer_state, …)` as the page writes such things: a sign at its number, categories in words. */
export function pageWords(sentence: string, count: number): string {
  // Of two recordings the heading says which one is meant.
  const place = count === 2 ? sentence.replace(/ on the worst\b/, " there") : sentence;
  return place
    .replace(/([+-]) (?=\d)/g, (_, sign: string) => (sign === "-" ? "−" : "+"))
    .replace(/\((\w+),/g, (whole, word: string) => (isCategory(word) ? `(${categoryLabel(word)},` : whole));
}

/** A sentence with the short names of files, where these tell the recordings apart. */
export function shortSentence(sentence: string, ranks: readonly Rank[]): string {
  const names = ranks.map(rankName);
  if (new Set(names).size < names.length) return sentence;
  // Longer paths first: one may be the beginning of another.
  return [...ranks]
    .sort((one, two) => two.file.length - one.file.length)
    .reduce((text, rank) => (rank.rank === null ? text.replaceAll(rank.file, rankName(rank)) : text), sentence);
}
