import type { PatchCommand } from "../../domain/patch/command.ts";
import type { FileSource, FileWrite } from "../../domain/patch/edit.ts";
import { editPaths, formatEditReport, type PlanOptions, planEdit } from "../../domain/patch/plan-edit.ts";
import type { View } from "../ports/view.ts";
import { allOrNothing } from "./all-or-nothing.ts";
import { type FileEditParts, failing, SKIPPED } from "./file-edit.ts";
import { failed, type Outcome, succeeded } from "./outcome.ts";
import { permit } from "./policy.ts";
import type { Resolved } from "./resolve-path.ts";

export interface MatchedEditParts extends FileEditParts {
  readonly planOptions: PlanOptions;
}

/** A diff, a V4A operation or a SEARCH/REPLACE block: all new contents are computed before the first write. */
export function runMatchedEdit(
  { view, policy, planOptions }: MatchedEditParts,
  command: PatchCommand,
): Outcome {
  const edit = command.edit;
  if (edit === undefined) return failed("no edit");
  const places = new Map<string, Resolved>();
  const warnings: string[] = [];
  for (const path of editPaths(edit)) {
    const place = permit(policy, view, path, { followLast: edit.kind !== "diff" });
    if (!place.allowed) return succeeded(SKIPPED);
    if (place.warning !== undefined) warnings.push(place.warning);
    places.set(path, place.target);
  }
  const placeOf = (path: string) => (places.get(path) as Resolved).path;
  const source: FileSource = {
    look(path) {
      // A plan also looks at the folders above its paths; those are looked at as they are.
      const place = places.get(path)?.path ?? path;
      const entry = view.look(place);
      return entry.kind === "file" ? { kind: "file", bytes: view.read(place), mode: entry.mode } : entry;
    },
  };
  const plan = planEdit(edit, source, planOptions);
  if (!plan.ok) return { ok: false, output: formatEditReport(plan.reports), error: plan.error, warnings };
  allOrNothing(
    view,
    plan.writes.map((write) => placeOf(write.path)),
    () => {
      for (const write of plan.writes)
        failing(`failed to write file ${write.path}`, () => put(view, placeOf(write.path), write));
    },
  );
  return { ...succeeded(formatEditReport(plan.reports)), warnings };
}

function put(view: View, path: string, write: FileWrite): void {
  if (write.kind === "write") view.write(path, write.bytes, write.mode);
  else if (write.kind === "symlink") view.makeSymlink(path, write.target);
  else view.remove(path);
}
