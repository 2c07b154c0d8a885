/** What one row of blocks is made of, in words. One line may allocate for several purposes. */
import { categoryLabel } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";

export interface CategoryBytes {
  category: string;
  bytes: number;
}

/** `workspaces, activations` */
export function categoryNames(categories: readonly CategoryBytes[]): string {
  return categories.map(({ category }) => categoryLabel(category)).join(", ");
}

/** `workspaces 8.13 MiB, activations 4.00 MiB` */
export function categoryParts(categories: readonly CategoryBytes[]): string {
  return categories.map(({ category, bytes }) => `${categoryLabel(category)} ${formatBytes(bytes)}`).join(", ");
}
