import type { FilePosition } from "./config-problem.ts";

/** As editors and terminals understand it; empty where nothing is known. */
export function filePositionText(at: FilePosition | undefined): string {
  if (at === undefined) return "";
  if (at.line === undefined) return `${at.file}: `;
  return `${at.file}:${at.line}${at.column === undefined ? "" : `:${at.column}`}: `;
}
