import type { WhyNotChecked } from "../../domain/checks/checks-facts.ts";
import { findChecks, READ_FOR_CHECKS } from "../../domain/checks/checks-find-checks.ts";
import type { ProjectCheck, ProjectFiles } from "../../domain/checks/project-check.ts";
import type { CheckMemory } from "../ports/checks.ts";
import type { WorkspaceFiles } from "../ports/workspace-files.ts";
import type { CheckSettings } from "./check-settings.ts";
import { recallChecks } from "./recall-checks.ts";

export interface OpenChecksDeps {
  readonly files: Pick<WorkspaceFiles, "look" | "list" | "read">;
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly now: () => number;
}

export type FoundChecks =
  | { readonly ok: true; readonly checks: readonly ProjectCheck[] }
  | { readonly ok: false; readonly why: WhyNotChecked; readonly commands: readonly string[] };

/** A machine that was busy once should not be held against the checks forever. */
const SLOW_FOR_MS = 24 * 60 * 60 * 1000;
/** A manifest is small; whatever is larger tells nothing. */
const READ_BYTES = 1024 * 1024;

/** Which checks are going to judge changes of a workspace, or why none. Reads a few small files; runs nothing. */
export function openChecks({ files, settings, memory, now }: OpenChecksDeps): FoundChecks {
  if (settings.enabled === "never") return { ok: false, why: "never", commands: [] };
  const found = findChecks(readProject(files), settings.command);
  const commands = found.map(({ command }) => command);
  if (found.length === 0) return { ok: false, why: "no-checks", commands };
  const checks = found.filter(({ missing }) => missing === undefined);
  if (!checks.some(({ kind }) => kind === "test") && checks.length < found.length)
    return { ok: false, why: "dependencies-missing", commands };
  if (settings.enabled === "auto" && isSlow(checks, { settings, memory, now }))
    return { ok: false, why: "slow", commands };
  return { ok: true, checks };
}

function isSlow(
  checks: readonly ProjectCheck[],
  { settings, memory, now }: Omit<OpenChecksDeps, "files">,
): boolean {
  const record = recallChecks(memory, checks);
  if (record === null) return false;
  if (record.wasEnded && now() - record.at > SLOW_FOR_MS) return false;
  const limitMs = settings.auto_limit * 1000;
  // Ended checks ran as long as they were let; with a larger limit they are tried again.
  return record.wasEnded ? record.durationMs >= limitMs : record.durationMs > limitMs;
}

function readProject(files: OpenChecksDeps["files"]): ProjectFiles {
  const names = files.list("");
  const texts: Record<string, string> = {};
  for (const name of READ_FOR_CHECKS) {
    const entry = names.includes(name) ? files.look(name) : null;
    if (entry?.kind === "file" && entry.size <= READ_BYTES)
      texts[name] = new TextDecoder().decode(files.read(name));
  }
  const programs =
    files.look("node_modules/.bin").kind === "directory" ? files.list("node_modules/.bin") : null;
  return { names, texts, ...(programs === null ? {} : { programs }) };
}
