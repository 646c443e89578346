import { SKIPPED } from "../../domain/jobs/result.ts";
import type {
  Edit,
  EditPlan,
  FileSource,
  FileWrite,
  HunkReport,
  PatchCommand,
} from "../../domain/patch/patch-command.ts";
import {
  createEditPlanner,
  editPaths,
  formatEditReport,
  type PlanOptions,
  type WithoutMade,
} from "../../domain/patch/plan-edit.ts";
import type { ResolvedTarget } from "../platform/resolve-target.ts";
import { type TakenEdit, type View, ViewFault } from "../ports/platform-view.ts";
import { permitTarget } from "./edit-policy.ts";
import {
  type CommandOutcome,
  type FileEditDeps,
  failedOutcome,
  noteLogged,
  succeededOutcome,
  withFaultPrefix,
} from "./file-edit.ts";

/** Runs several writes of one command; when one fails, the view is again as it was before the first. */
export function allOrNothing(view: View, paths: readonly string[], write: () => void): void {
  const kept = paths.map((path): TakenEdit => {
    const entry = view.look(path);
    return { path, entry, bytes: entry.kind === "file" && paths.length > 1 ? view.read(path) : null };
  });
  const made = missingParents(view, paths);
  try {
    write();
  } catch (error) {
    const several = paths.length > 1;
    for (const { path, entry } of several ? kept.toReversed() : [])
      if (entry.kind === "missing" && view.look(path).kind !== "missing") view.remove(path);
    for (const folder of made) if (view.look(folder).kind === "directory") view.remove(folder);
    if (several) for (const one of kept.toReversed()) restore(view, one);
    throw error;
  }
}

function restore(view: View, { path, entry, bytes }: TakenEdit): void {
  const now = view.look(path);
  if (entry.kind === "file" && bytes !== null) view.write(path, bytes, entry.mode);
  else if (entry.kind === "directory" && now.kind !== "directory") {
    if (now.kind !== "missing") view.remove(path);
    view.makeDirectory(path);
  } else if (entry.kind === "symlink" && (now.kind !== "symlink" || now.target !== entry.target)) {
    if (now.kind !== "missing") view.remove(path);
    view.makeSymlink(path, entry.target);
  }
}

function missingParents(view: View, paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      const folder = path.slice(0, slash);
      if (folders.has(folder) || view.look(folder).kind === "directory") break;
      folders.add(folder);
    }
  }
  return [...folders].sort((x, y) => y.length - x.length);
}

export interface MatchedEditDeps extends FileEditDeps {
  readonly planOptions: PlanOptions;
  /** The rest of an edit that failed, without what earlier attempts made; absent outside of a coder's draft. */
  readonly withoutMade?: WithoutMade | undefined;
}

/** Runs the matched edits of one patch, which share one budget for matching. */
export function createMatchedEdits(): (deps: MatchedEditDeps, command: PatchCommand) => CommandOutcome {
  const plan = createEditPlanner();
  return (deps, command) => runMatchedEdit(deps, command, plan);
}

/** A diff, a V4A operation or a SEARCH/REPLACE block: all new contents are computed before the first write. */
function runMatchedEdit(
  { view, policy, planOptions, earlier, withoutMade }: MatchedEditDeps,
  command: PatchCommand,
  planEdit: ReturnType<typeof createEditPlanner>,
): CommandOutcome {
  const edit = command.edit;
  if (edit === undefined) return failedOutcome("no edit");
  const places = new Map<string, ResolvedTarget>();
  // A diff may put something below a link that it removes; entries behind any other link are refused by its plan.
  const logged: string[] = [];
  for (const path of editPaths(edit)) {
    const place = permitTarget(policy, view, path, { follow: edit.kind === "diff" ? "none" : "all" });
    if (!place.allowed) return succeededOutcome(SKIPPED);
    if (place.logged !== undefined) logged.push(place.logged);
    places.set(path, place.target);
  }
  const placeOf = (path: string) => (places.get(path) as ResolvedTarget).path;
  const source: FileSource = {
    look(path) {
      // A plan also looks at the folders above its paths; those are looked at as they are.
      const place = places.get(path)?.path ?? path;
      const entry = view.look(place);
      return entry.kind === "file" ? { kind: "file", bytes: view.read(place), mode: entry.mode } : entry;
    },
  };
  const { plan, made } = planRest(
    edit,
    (rest) => planEdit(rest, source, planOptions),
    (rest, reports) =>
      earlier === undefined ? null : (withoutMade?.(rest, reports, source, earlier) ?? null),
  );
  if (!plan.ok)
    return {
      ok: false,
      output: formatEditReport(plan.reports),
      error: plan.error,
      warnings: noteLogged(logged),
    };
  allOrNothing(
    view,
    plan.writes.map((write) => placeOf(write.path)),
    () => carryOut(view, plan.writes, placeOf),
  );
  const output = [formatEditReport(plan.reports), ...made.map((path) => `${path}: is there already`)];
  return {
    ...succeededOutcome(output.filter((line) => line !== "").join("\n")),
    warnings: noteLogged(logged),
  };
}

/** A renamed file hides whether its hunks were made until the rename is left out. */
const MOST_RESTS = 3;

/** Plans an edit; if it fails, plans what is left of it, as far as earlier attempts made the others. Fails as the whole edit does. */
function planRest(
  edit: Edit,
  plan: (edit: Edit) => EditPlan,
  restOf: (edit: Edit, reports: readonly HunkReport[]) => ReturnType<WithoutMade>,
): { readonly plan: EditPlan; readonly made: readonly string[] } {
  const whole = plan(edit);
  let planned = whole;
  let left = edit;
  const made = new Set<string>();
  for (let round = 0; !planned.ok && round < MOST_RESTS; round++) {
    const without = restOf(left, planned.reports);
    if (without === null) break;
    for (const path of without.made) made.add(path);
    if (without.rest === null) return { plan: { ok: true, writes: [], reports: [] }, made: [...made] };
    left = without.rest;
    planned = plan(left);
  }
  return planned.ok ? { plan: planned, made: [...made] } : { plan: whole, made: [] };
}

/** Removals are first. A folder that they leave empty is removed before an entry takes its name, the others at the end. */
function carryOut(view: View, writes: readonly FileWrite[], placeOf: (path: string) => string): void {
  const removals = writes.filter((write) => write.kind === "delete");
  const others = writes.filter((write) => write.kind !== "delete");
  const emptied = removals.filter((write) => write.pruneParents === true).map((write) => placeOf(write.path));
  const wanted = new Set(others.map((write) => placeOf(write.path)));
  const put = (write: FileWrite) =>
    withFaultPrefix(`failed to write file ${write.path}`, () => putOne(view, placeOf(write.path), write));
  removals.forEach(put);
  for (const path of emptied) {
    if (parentsOf(path).some((parent) => wanted.has(parent))) prune(view, path);
  }
  others.forEach(put);
  for (const path of emptied) prune(view, path);
}

function putOne(view: View, path: string, write: FileWrite): void {
  if (write.kind === "write") view.write(path, write.bytes, write.mode);
  else if (write.kind === "symlink") view.makeSymlink(path, write.target);
  else view.remove(path);
}

/** The folders above a path that nothing is left in; one that cannot be removed stays, as with git. */
function prune(view: View, path: string): void {
  for (const parent of parentsOf(path)) {
    if (view.look(parent).kind === "missing") continue;
    if (view.look(parent).kind !== "directory" || view.list(parent).length > 0) return;
    try {
      view.remove(parent);
    } catch (error) {
      if (error instanceof ViewFault) return;
      throw error;
    }
  }
}

function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    parents.push(path.slice(0, at));
  return parents;
}
