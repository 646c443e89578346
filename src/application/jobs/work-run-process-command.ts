import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change } from "../../domain/jobs/result.ts";
import type { Note } from "../../domain/jobs/note.ts";
import { guardChanges } from "./work-guard-changes.ts";
import { limitNotes } from "./limit-notes.ts";
import { networkNotes } from "./network-notes.ts";
import type { CommandOutcome } from "./outcome.ts";
import { runGit } from "./run-process-command.ts";
import type { RunCommandsDeps } from "./run-parts.ts";
import { type RunProcessDeps, runShell } from "./run-shell.ts";

/** Runs a shell line or a git operation in the view, then puts back what it may not touch. */
export async function runProcessCommand(
  parts: RunCommandsDeps,
  command: PatchCommand,
): Promise<{ outcome: CommandOutcome; changes: readonly Change[] }> {
  const context: RunProcessDeps = { ...parts, processes: await parts.processes() };
  const ran =
    command.type === "shell_command"
      ? await runShell(context, command, parts.commandTimeoutSeconds)
      : await runGit(context, command, parts.gitTimeoutSeconds);
  return guard(parts, ran);
}

function guard(
  { transaction, policy, planOptions, limits }: RunCommandsDeps,
  ran: CommandOutcome,
): { outcome: CommandOutcome; changes: readonly Change[] } {
  const { protection } = policy;
  const { changes, restored, created, logged } = guardChanges(
    { transaction, protection, sha1: planOptions.sha1 },
    transaction.takeChanges({ processRan: true }),
  );
  const warnings: Note[] = [...ran.warnings];
  if (!ran.ok && transaction.kind === "overlay") {
    if (ACROSS_LAYERS.test(ran.output)) warnings.push({ code: "rename-across-layers" });
    if (HARD_LINKED.test(ran.output)) warnings.push({ code: "link-across-layers" });
  }
  const foreign = FOREIGN_OWNER.test(ran.output) ? (transaction.metForeign?.() ?? null) : null;
  if (foreign !== null) warnings.push({ code: "foreign-owner-met" });
  else if (!ran.ok && transaction.kind === "overlay" && FOREIGN_OWNER.test(ran.output))
    warnings.push({ code: "foreign-owner" });
  warnings.push(...networkNotes(transaction, ran));
  const hidden = ran.ok ? [] : (transaction.hiddenHome?.(`${ran.error}\n${ran.output}`) ?? []);
  if (hidden.length > 0) warnings.push({ code: "home-hidden", paths: hidden });
  if (!ran.ok && transaction.processes !== undefined && transaction.isLimited !== true)
    warnings.push(...limitNotes(limits, `${ran.error}${ran.output}`));
  if (created.length > 0) warnings.push({ code: "protected-created", paths: created });
  if (logged.length > 0) warnings.push({ code: "protected-logged", paths: logged });
  const skipped = restored.filter(({ rule }) => rule === "protected" && protection.action === "skip");
  if (skipped.length > 0)
    warnings.push({ code: "protected-restored", paths: skipped.map(({ path }) => path) });
  const failing = restored.filter((one) => !skipped.includes(one)).map(({ why }) => `${why} (restored)`);
  if (failing.length === 0) return { outcome: { ...ran, warnings }, changes };
  const error = [ran.error, ...failing].filter((line) => line !== "").join("\n");
  return { outcome: { ...ran, ok: false, error, warnings }, changes };
}

/** How programs say that a folder of the lower layer cannot be renamed. */
const ACROSS_LAYERS = /Invalid cross-device link|EXDEV/;

/** How programs say that a file of an owner who does not exist in the view cannot be copied into its layer. */
const FOREIGN_OWNER = /Value too large for defined data type|EOVERFLOW/;

/** How git says that a file changed its inode when it was linked: it was copied into the layer by that. */
const HARD_LINKED = /hardlink different from source/;
