import { type CommandResult, type FailureReason, type Note, SKIPPED } from "../../domain/jobs/result.ts";
import { type EarlierStates, isDeletedByOwn, type PatchCommand } from "../../domain/patch/patch-command.ts";
import type { ResolvedTarget } from "../platform/resolve-target.ts";
import type { EditPolicy } from "../ports/jobs-workspace.ts";
import { type View, ViewFault } from "../ports/platform-view.ts";
import { type PermittedTarget, permitBelow, permitTarget } from "./edit-policy.ts";

/** The output and effects of one command. Failures are `ok: false`, with a text for the user. */
export interface CommandOutcome extends Pick<CommandResult, "output" | "error" | "reason" | "process"> {
  readonly ok: boolean;
  readonly warnings: readonly Note[];
}

export function succeededOutcome(output: string): CommandOutcome {
  return { ok: true, output, error: "", warnings: [] };
}

export function failedOutcome(error: string, output = "", reason?: FailureReason): CommandOutcome {
  return { ok: false, output, error, ...(reason !== undefined && { reason }), warnings: [] };
}

export interface FileEditDeps {
  readonly view: View;
  readonly policy: EditPolicy;
  /** In a coder's draft: what its earlier attempts deleted or renamed is no failure. */
  readonly earlier?: EarlierStates | undefined;
}

/** A `file_edit` that says what to do; `matched-edit.ts` has those to be matched. Paths are resolved and checked when used. */
export function runFileEdit(deps: FileEditDeps, command: PatchCommand): CommandOutcome {
  const { view, policy, earlier } = deps;
  const { action, target, content } = command;
  switch (action) {
    case "create":
    case "update":
      return withTarget(permitTarget(policy, view, target, { follow: "all" }), ({ path }) => {
        const bytes = Buffer.from(content, "utf8");
        withFaultPrefix(`failed to write file ${target}`, () => view.write(path, bytes));
        return `File ${target} written successfully (${bytes.length} bytes)`;
      });
    case "delete":
      return withTarget(permitTarget(policy, view, target, { follow: "parents" }), ({ path, entry }) => {
        if (entry.kind === "missing" && isDeletedByOwn(path, earlier))
          return `File ${target} is deleted already`;
        withFaultPrefix(`failed to delete file ${target}`, () => {
          if (entry.kind === "directory" && command.metadata?.format === "v4a")
            throw new ViewFault("is-directory", path, `is a directory: ${target}`);
          view.remove(path);
        });
        return `File ${target} deleted`;
      });
    case "append":
      return withTarget(permitTarget(policy, view, target, { follow: "all" }), ({ path, entry }) => {
        const added = Buffer.from(content, "utf8");
        withFaultPrefix(`failed to append to file ${target}`, () => {
          const before = entry.kind === "missing" ? new Uint8Array() : view.read(path);
          view.write(path, Buffer.concat([before, added]));
        });
        return `Appended ${added.length} bytes to ${target}`;
      });
    case "mkdir":
      return withTarget(permitTarget(policy, view, target, { follow: "all" }), ({ path }) => {
        withFaultPrefix(`failed to create directory ${target}`, () => view.makeDirectory(path));
        return `Directory ${target} created`;
      });
    case "rename":
    case "copy":
      return relocate(deps, command, action);
    default:
      return failedOutcome(`unknown file_edit action: ${action}`);
  }
}

function relocate(deps: FileEditDeps, command: PatchCommand, action: "rename" | "copy"): CommandOutcome {
  const { view, policy, earlier } = deps;
  const { target, content } = command;
  if (content === "") return failedOutcome(`${action} requires Content field (destination path)`);
  const follow = action === "copy" ? "all" : "parents";
  const source = permitTarget(policy, view, target, { follow });
  if (!source.allowed) return succeededOutcome(SKIPPED);
  const destination = permitTarget(policy, view, content, {
    follow,
    denial: `cannot ${action} to protected file`,
  });
  if (!destination.allowed) return succeededOutcome(SKIPPED);
  const [from, to] = [source.target, destination.target];
  const logged = [source.logged, destination.logged].filter((path) => path !== undefined);
  if (from.entry.kind === "directory" && action === "rename") {
    const below = permitBelow(policy, view, from.path, to.path);
    if (!below.allowed) return succeededOutcome(SKIPPED);
    logged.push(...below.logged);
  }
  const isRenamed = from.entry.kind === "missing" && to.entry.kind !== "missing" && action === "rename";
  if (isRenamed && isDeletedByOwn(from.path, earlier) && (earlier?.(to.path).length ?? 0) > 0)
    return succeededOutcome(`${target} is renamed already`);
  withFaultPrefix(`failed to ${action} ${target}`, () => {
    if (from.entry.kind === "missing")
      throw new ViewFault("missing", target, `no such file or directory: ${target}`);
    if (to.path === from.path) return;
    if (to.path.startsWith(`${from.path}/`))
      throw new ViewFault("exists", content, `cannot move a folder into itself: ${content}`);
    if (action === "copy") view.copy(from.path, to.path);
    else view.rename(from.path, to.path);
  });
  return {
    ...succeededOutcome(
      action === "copy" ? `copied ${target} -> ${content}` : `renamed ${target} -> ${content}`,
    ),
    warnings: noteLogged(logged),
  };
}

function withTarget(permitted: PermittedTarget, use: (target: ResolvedTarget) => string): CommandOutcome {
  if (!permitted.allowed) return succeededOutcome(SKIPPED);
  return {
    ...succeededOutcome(use(permitted.target)),
    warnings: noteLogged(permitted.logged === undefined ? [] : [permitted.logged]),
  };
}

/** Protected files that were changed because `action_on_protected_file` is `log`. */
export function noteLogged(paths: readonly string[]): readonly Note[] {
  return paths.length === 0 ? [] : [{ code: "protected-logged", paths }];
}

/** Gives a fault its documented opening words and keeps its cause. */
export function withFaultPrefix(what: string, use: () => void): void {
  try {
    use();
  } catch (error) {
    if (error instanceof ViewFault)
      throw new ViewFault(error.code, error.path, `${what}: ${error.message}`, { cause: error });
    throw error;
  }
}
