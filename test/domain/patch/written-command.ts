import type { DiffFile, Hunk, PatchCommand } from "../../../src/domain/patch/patch-command.ts";

/** A command as a scenario file writes it down: whole, each line of a hunk as its tag, its text and its line end. */
export function writtenCommand({ edit, ...rest }: PatchCommand): unknown {
  if (edit === undefined) return rest;
  switch (edit.kind) {
    case "diff":
      return { ...rest, edit: { kind: edit.kind, files: edit.files.map(writtenFile) } };
    case "v4a":
      return { ...rest, edit: { ...edit, hunks: edit.hunks.map(writtenHunk) } };
    case "search-replace":
      return { ...rest, edit: { ...edit, hunk: writtenHunk(edit.hunk) } };
    default:
      return edit satisfies never;
  }
}

function writtenFile(file: DiffFile): unknown {
  if (file.change === "text") return { ...file, hunks: file.hunks.map(writtenHunk) };
  return { ...file, forward: file.forward?.size, reverse: file.reverse?.size };
}

function writtenHunk({ lines, oldStart, newStart, anchors, atEnd }: Hunk): unknown {
  const places = Object.entries({ oldStart, newStart, anchors, atEnd });
  return {
    ...Object.fromEntries(places.filter(([, value]) => value !== undefined)),
    lines: lines.map((line) => line.tag + line.text + line.eol),
  };
}
