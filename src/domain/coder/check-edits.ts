import type { PatchCommand } from "../patch/command.ts";
import type { Edit, Hunk } from "../patch/patch-command.ts";
import type { CheckedFiles } from "./proposal-check-edits.ts";

/** Why an edit is not run before its coder has looked again. */
export type Doubt =
  /** The whole file is written anew, though its coder has not seen what stands there. */
  | { readonly kind: "unseen"; readonly path: string }
  /** A mark such as `... existing code ...` would become part of the file. */
  | { readonly kind: "elision"; readonly path: string; readonly line: string }
  /** A fraction is left of a file. */
  | { readonly kind: "shrinks"; readonly path: string; readonly from: number; readonly to: number };

export interface ShownToCoder {
  /** Whether the coder was shown the file whole. */
  readonly shown: (path: string) => boolean;
  /** Whether it was told of that doubt about that file before: it means it. */
  readonly told: (path: string) => boolean;
}

/** Lines of a file below which nobody wonders where the rest is. */
const WONDER_FROM = 40;
const FRACTION = 4;

/** Edits that look like a slip of the model: it wrote less than it meant. Files that are not judged are left out. */
export function doubtfulEdits(
  commands: readonly PatchCommand[],
  files: CheckedFiles,
  seen: ShownToCoder,
): Doubt[] {
  const doubts: Doubt[] = [];
  const written = new Set<string>();
  for (const { type, action, target, content, edit } of commands) {
    if (type !== "file_edit") continue;
    if (edit !== undefined) {
      doubts.push(...elidedHunks(edit, files));
      continue;
    }
    const path = target.replace(/^\.\//, "");
    if (action === "delete" || action === "rename") written.add(path);
    if (action !== "create" && action !== "update") continue;
    const before = files.judges(path) && !written.has(path) ? readFileText(files, path) : null;
    written.add(path);
    const mark = elisionIn(content.split("\n"), before ?? "");
    if (mark !== null) doubts.push({ kind: "elision", path, line: mark });
    if (mark !== null || before === null || before.trim() === "" || isSame(before, content)) continue;
    if (!seen.shown(path)) doubts.push({ kind: "unseen", path });
    else if (!seen.told(path)) doubts.push(...shrinking(path, before, content));
  }
  return doubts;
}

function isSame(before: string, after: string): boolean {
  return before.trimEnd() === after.trimEnd();
}

function shrinking(path: string, before: string, after: string): Doubt[] {
  const [from, to] = [before.split("\n").length, after.split("\n").length];
  return from >= WONDER_FROM && to * FRACTION < from ? [{ kind: "shrinks", path, from, to }] : [];
}

function elidedHunks(edit: Edit, files: CheckedFiles): Doubt[] {
  return hunksOf(edit).flatMap(({ path, hunks }): Doubt[] => {
    const added = hunks.flatMap(({ lines }) =>
      lines.filter(({ tag }) => tag === "+").map(({ text }) => text),
    );
    const mark = elisionIn(
      added.map((line) => Buffer.from(line, "latin1").toString()),
      (files.judges(path) && readFileText(files, path)) || "",
    );
    return mark === null ? [] : [{ kind: "elision", path, line: mark }];
  });
}

function hunksOf(edit: Edit): readonly { readonly path: string; readonly hunks: readonly Hunk[] }[] {
  switch (edit.kind) {
    case "search-replace":
      return [{ path: edit.path, hunks: [edit.hunk] }];
    case "v4a":
      return [{ path: edit.path, hunks: edit.hunks }];
    case "diff":
      return edit.files.flatMap((file) =>
        file.change === "text" ? [{ path: file.newPath ?? file.oldPath ?? "", hunks: file.hunks }] : [],
      );
  }
}

/** `// ... existing code ...`, `# … rest of the file unchanged`, `# 省略 …`: a comment that stands for code. */
const ELISION =
  /^\s*(?:\/\/|#|\/\*|<!--|--|;|%|\{\/\*)?\s*[([<]?\s*(?:\.{3}|…)\s*[([]?\s*(?:(?:the )?(?:existing|rest|remaining|remainder|unchanged|previous|same as|other|keep|omitted|code)|既存|残り|以下|省略|変更なし|中略|同じ)/iu;

/** The first line that is such a mark and did not stand in the file before. */
function elisionIn(lines: readonly string[], before: string): string | null {
  return lines.find((line) => ELISION.test(line) && !before.includes(line.trim()))?.trim() ?? null;
}

function readFileText(files: CheckedFiles, path: string): string | null {
  const found = files.look(path);
  return found.kind === "file" ? Buffer.from(found.bytes).toString() : null;
}
