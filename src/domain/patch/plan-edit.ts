import type { Edit, EditPlan, FileSource, FileWrite, Hunk, HunkReport } from "./patch-command.ts";
import type { MatchRule } from "./apply-hunks.ts";
import { fromBytesText } from "./patch-text.ts";
import type { PlanOptions } from "./diff-content.ts";
import { editFile } from "./edit-file.ts";
import { planDiff } from "./plan-diff.ts";
import { createBudget } from "./work-budget.ts";

export type { PlanOptions };

/** Computes everything an edit will write, or says why it will write nothing. Pure but for what `source` looks at. */
export function planEdit(edit: Edit, source: FileSource, options: PlanOptions): EditPlan {
  switch (edit.kind) {
    case "diff":
      return planDiff(edit.files, source, options);
    case "v4a":
      return planOne(source, edit.path, edit.hunks, "v4a", edit.moveTo);
    case "search-replace":
      return planOne(source, edit.path, [edit.hunk], "search-replace");
  }
}

/** Every path an edit may read or write, each once. */
export function editPaths(edit: Edit): string[] {
  const paths = new Set<string>();
  if (edit.kind === "diff") {
    for (const file of edit.files) {
      for (const path of [file.oldPath, file.newPath, file.alternatePath]) if (path) paths.add(path);
    }
  } else {
    paths.add(edit.path);
    if (edit.kind === "v4a" && edit.moveTo !== undefined) paths.add(edit.moveTo);
  }
  return [...paths];
}

function planOne(
  source: FileSource,
  path: string,
  hunks: readonly Hunk[],
  rule: MatchRule,
  moveTo?: string,
): EditPlan {
  const refuse = (message: string): EditPlan => {
    const report: HunkReport = { path, hunk: 0, status: "refused", message };
    return { ok: false, error: message, reports: [report] };
  };
  const found = source.look(path);
  if (found.kind === "missing") {
    const hunk = hunks[0];
    const creates =
      rule === "search-replace" && hunk !== undefined && hunk.lines.every((line) => line.tag === "+");
    return creates ? planCreation(path, hunk) : refuse(`${path}: No such file`);
  }
  if (found.kind !== "file")
    return refuse(`${path}: ${found.kind === "symlink" ? "is a symbolic link" : `is not a file`}`);
  const edited = editFile(path, found.bytes, hunks, rule, createBudget());
  if (!edited.ok) return { ok: false, error: planError(path, edited.reports), reports: edited.reports };
  if (moveTo === undefined || moveTo === path) {
    return { ok: true, writes: [{ kind: "write", path, bytes: edited.bytes }], reports: edited.reports };
  }
  const there = source.look(moveTo);
  if (there.kind === "directory") return refuse(`${moveTo}: is a directory`);
  const writes: FileWrite[] = [
    { kind: "delete", path },
    { kind: "write", path: moveTo, bytes: edited.bytes, mode: found.mode & 0o7777 },
  ];
  return { ok: true, writes, reports: edited.reports };
}

function planCreation(path: string, hunk: Hunk): EditPlan {
  const bytes = fromBytesText(hunk.lines.map((line) => line.text + line.eol).join(""));
  const reports: HunkReport[] = [{ path, hunk: 1, status: "applied", strategy: "exact", line: 1 }];
  return { ok: true, writes: [{ kind: "write", path, bytes }], reports };
}

function planError(path: string, reports: readonly HunkReport[]): string {
  const failed = reports.filter((report) => report.status !== "applied");
  const first = failed[0];
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return `${path}: hunk ${first?.hunk ?? 0} ${first?.status ?? "failed"}: ${first?.message ?? ""}${more}`;
}
