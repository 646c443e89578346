import type { PatchCommand } from "../patch/command.ts";
import type { FileEntry, FileSource, FileWrite, HunkReport } from "../patch/patch-command.ts";
import { editPaths, formatEditReport, type PlanOptions, planEdit } from "../patch/plan-edit.ts";

/** Files as they stand. A path that is not judged (protected, outside, behind a link) is left to the executor. */
export interface CheckedFiles extends FileSource {
  judges(path: string): boolean;
}

export type CheckedEdits =
  | { readonly ok: true }
  /** `report` is for the model that wrote the patch. */
  | { readonly ok: false; readonly failed: number; readonly report: string };

/**
 * Tries the edits of a patch on the files as they stand, in order, and writes nothing. What comes after the first
 * command that runs a program is not judged: nobody knows what the files will be by then.
 */
export function checkEdits(
  commands: readonly PatchCommand[],
  files: CheckedFiles,
  options: PlanOptions,
): CheckedEdits {
  const written = new Map<string, FileEntry>();
  const source: FileSource = { look: (path) => written.get(path) ?? files.look(path) };
  const reports: HunkReport[] = [];
  let failed = 0;
  for (const command of commands) {
    if (command.type !== "file_edit") break;
    if (command.edit === undefined) {
      imagine(command, source, written);
      continue;
    }
    if (!editPaths(command.edit).every((path) => files.judges(path))) continue;
    const plan = planEdit(command.edit, source, options);
    reports.push(...plan.reports);
    if (plan.ok) for (const write of plan.writes) note(write, source, written);
    else failed++;
  }
  return failed === 0 ? { ok: true } : { ok: false, failed, report: formatEditReport(reports) };
}

function note(write: FileWrite, source: FileSource, written: Map<string, FileEntry>): void {
  switch (write.kind) {
    case "write": {
      const before = source.look(write.path);
      const mode = write.mode ?? (before.kind === "file" ? before.mode : 0o644);
      written.set(write.path, { kind: "file", bytes: write.bytes, mode });
      return;
    }
    case "symlink":
      written.set(write.path, { kind: "symlink", target: write.target });
      return;
    case "delete":
      written.set(write.path, { kind: "missing" });
  }
}

/** What a plain file command leaves behind, as far as later edits of the same patch may look at it. */
function imagine(
  { action, target, content }: PatchCommand,
  source: FileSource,
  written: Map<string, FileEntry>,
): void {
  const path = target.replace(/^\.\//, "");
  const there = source.look(path);
  switch (action) {
    case "create":
    case "update":
      written.set(path, { kind: "file", bytes: Buffer.from(content), mode: 0o644 });
      return;
    case "append": {
      const before = there.kind === "file" ? there.bytes : new Uint8Array();
      written.set(path, { kind: "file", bytes: Buffer.concat([before, Buffer.from(content)]), mode: 0o644 });
      return;
    }
    case "delete":
      written.set(path, { kind: "missing" });
      return;
    case "rename":
      written.set(path, { kind: "missing" });
      written.set(content, there);
      return;
    case "copy":
      written.set(content, there);
  }
}
