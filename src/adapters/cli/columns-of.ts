import { textWidth } from "./text-width.ts";

/** Rows of cells below each other, by how wide they look. */
export function columnsOf(rows: readonly (readonly string[])[]): string {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => textWidth(row[column] as string)))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - textWidth(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
