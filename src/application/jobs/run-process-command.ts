import {
  type Change,
  type FailureReason,
  homeLeftOut,
  type Note,
  type NoteFact,
} from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { HeadProcess } from "../ports/jobs-head.ts";
import type { ReachedHost, StartedBy, Transaction } from "../ports/jobs-transaction.ts";
import type { LimitSettings } from "../ports/jobs-workspace.ts";
import type { ProcessResult } from "../ports/platform-processes.ts";
import { commitAnyway, type RunGit } from "./auto-commit.ts";
import { type CommandOutcome, failedOutcome, succeededOutcome } from "./file-edit.ts";
import { guardChanges } from "./guard-changes.ts";
import {
  type RunCommandsDeps,
  type RunProcessDeps,
  runInView,
  runShell,
  toCommandOutcome,
} from "./run-shell.ts";

type NamedLimit = "memory" | "file_size" | "open_files" | "processes";

/** How programs say that they may have no more of something. */
const LIMIT_MESSAGES: Readonly<Record<NamedLimit, RegExp>> = {
  memory: /Cannot allocate memory|ENOMEM|MemoryError|out of memory|bad_alloc|allocation failed/i,
  file_size: /SIGXFSZ|File size limit exceeded|File too large|EFBIG/,
  open_files: /Too many open files|EMFILE/,
  processes: /fork: retry|Resource temporarily unavailable|EAGAIN|can't start new thread|Cannot fork/i,
};

/** The limits that a failed command seems to have met, by its output. */
export function limitNotes(limits: LimitSettings, said: string): NoteFact[] {
  return (Object.keys(LIMIT_MESSAGES) as NamedLimit[])
    .filter((limit) => limits[limit] > 0 && LIMIT_MESSAGES[limit].test(said))
    .map((limit) => ({ code: "limit-met", limit, value: limits[limit] }));
}

/** What a network refused and reached since the last call, and why a failed command seems to have reached nothing. */
export function networkNotes(
  { network, takeTraffic, startedBy }: Pick<Transaction, "network" | "takeTraffic"> & StartedByWhom,
  ran?: CommandOutcome,
): { readonly notes: NoteFact[]; readonly reached: readonly ReachedHost[] } {
  if (network === undefined) return { notes: [], reached: [] };
  const { refused, reached: all } = takeTraffic?.() ?? { refused: [], reached: [] };
  const list = startedBy === "model" ? { list: "model" as const } : {};
  // What a user's own commands reach is the user's own business.
  const reached = startedBy === "model" ? all : [];
  if (refused.length > 0)
    return { notes: refused.map((one) => ({ code: "host-refused", ...one, ...list })), reached };
  const isLimited = ran !== undefined && !ran.ok && NO_NETWORK.test(ran.output);
  return { notes: isLimited ? [{ code: "network-limited", network, ...list }] : [], reached };
}

interface StartedByWhom {
  readonly startedBy: StartedBy;
}

function takeNetwork({ network, takeTraffic }: Transaction): Pick<Transaction, "network" | "takeTraffic"> {
  return { ...(network && { network }), ...(takeTraffic && { takeTraffic }) };
}

const NO_NETWORK =
  /Could ?n[o']t resolve|name resolution|Name or service not known|EAI_AGAIN|ENOTFOUND|ENETUNREACH|Network is unreachable|No address associated/i;

const ADD_FLAGS = new Set(["-A", "--all", "-u", "--update", "-N", "--intent-to-add", "-f", "--force"]);

/** Carries out one `git_operation` as an argument list, never through a shell. */
async function runGit(
  deps: RunProcessDeps,
  command: PatchCommand,
  timeoutSeconds: number,
): Promise<CommandOutcome> {
  const args = argumentsFor(deps, command);
  if (args === null) return failedOutcome(`unknown git_operation action: ${command.action}`);
  if (args.some((arg) => arg.includes("\0"))) return failedOutcome("git argument contains a NUL byte");
  const git = gitIn(deps, timeoutSeconds);
  if (command.action === "commit") {
    const { result, notes } = await commitAnyway(git, [], args);
    const outcome = toCommandOutcome(result, "git command failed", timeoutSeconds);
    if (outcome.ok) return { ...outcome, warnings: notes.map((code) => ({ code })) };
    return explained(git, result, outcome);
  }
  const result = await git(...args);
  return explained(git, result, toCommandOutcome(result, "git command failed", timeoutSeconds));
}

/** Workspace files that look like a repository, with settings that name programs, are not one: only `.git` is. */
function gitIn(deps: RunProcessDeps, timeoutSeconds: number): RunGit {
  const folder = deps.transaction.directory as string;
  const git = ["git", "-c", "safe.bareRepository=explicit"] as const;
  return (...args) => runInView(deps, [...git, ...args], deps.env, folder, timeoutSeconds);
}

/** Says why git could do nothing at all, where that is the reason. */
async function explained(
  git: RunGit,
  result: ProcessResult,
  outcome: CommandOutcome,
): Promise<CommandOutcome> {
  const reason = await gitFailureReason(git, result);
  return reason === null ? outcome : { ...outcome, reason };
}

async function gitFailureReason(git: RunGit, result: ProcessResult): Promise<FailureReason | null> {
  if (result.outcome === "not-started")
    return result.error?.reason === "program-missing" ? { code: "git-missing" } : null;
  if (result.exitCode !== 128) return null;
  return (await git("rev-parse", "--git-dir")).exitCode === 0 ? null : { code: "not-a-repository" };
}

function argumentsFor(deps: RunProcessDeps, { action, target, content }: PatchCommand): string[] | null {
  switch (action) {
    case "add": {
      const words = splitTargetWords(deps, target);
      const flags = words.filter((word) => ADD_FLAGS.has(word));
      const paths = words.filter((word) => !ADD_FLAGS.has(word) && word !== "--");
      return ["add", ...flags, "--", ...paths];
    }
    case "commit":
      return ["commit", "-m", content === "" ? "Auto-commit by Worker" : content];
    case "reset":
    case "checkout":
      return [action, ...splitTargetWords(deps, target)];
    default:
      return null;
  }
}

/** A target that names an existing path is one argument; otherwise its words are, with quotes respected. */
function splitTargetWords({ transaction }: RunProcessDeps, target: string): string[] {
  if (
    !target.startsWith("-") &&
    /\s/.test(target) &&
    attemptOr(false, () => transaction.view.look(target).kind !== "missing")
  )
    return [target];
  const words: string[] = [];
  for (const match of target.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    words.push(match[1]?.replace(/\\(.)/g, "$1") ?? match[2] ?? (match[3] as string));
  }
  return words;
}

export async function runProcessCommand(
  deps: RunCommandsDeps,
  command: PatchCommand,
): Promise<{ outcome: CommandOutcome; changes: readonly Change[] }> {
  const context: RunProcessDeps = { ...deps, processes: await deps.processes() };
  if (deps.head !== undefined) return guard(deps, await runHead(context, deps.head));
  const ran =
    command.type === "shell_command"
      ? await runShell(context, command, deps.commandTimeoutSeconds)
      : await runGit(context, command, deps.gitTimeoutSeconds);
  return guard(deps, ran);
}

/** A head's stream is read as it arrives; only the beginning and the end of its text are kept. */
const HEAD_OUTPUT_BYTES = 64 * 1024;

/** One turn of a head in the view. Its protocol reports how the turn ended; the exit code says little. */
async function runHead(
  { processes, transaction, jobId, env, signal }: RunProcessDeps,
  head: HeadProcess,
): Promise<CommandOutcome> {
  const folder = transaction.directory as string;
  const { argv, env: own } = head.command(transaction.layers?.headPort?.() ?? null);
  const result = await processes.runProcess({
    argv,
    cwd: folder,
    env: { ...env, ...own, PWD: folder },
    timeoutMs: head.timeoutMs,
    signal: AbortSignal.any([signal, head.signal]),
    outputLimitBytes: HEAD_OUTPUT_BYTES,
    stdin: head.onStart,
    onOutput: head.onOutput,
    jobMarker: jobId,
  });
  const error = head.onEnd(result);
  // Its words are the reply's, not the output of a command.
  return error === "" ? succeededOutcome("") : failedOutcome(error);
}

function guard(
  { transaction, policy, planOptions, limits, startedBy, onReached }: RunCommandsDeps,
  ran: CommandOutcome,
): { outcome: CommandOutcome; changes: readonly Change[] } {
  const { protection } = policy;
  const { changes, restored, created, logged, leftOut } = guardChanges(
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
  const { notes, reached } = networkNotes({ ...takeNetwork(transaction), startedBy }, ran);
  warnings.push(...notes);
  onReached(reached);
  const hidden = ran.ok ? [] : (transaction.hiddenHome?.(`${ran.error}\n${ran.output}`) ?? []);
  if (hidden.length > 0) warnings.push({ code: "home-hidden", paths: hidden });
  const secrets = ran.ok ? [] : (transaction.hiddenSecrets?.(`${ran.error}\n${ran.output}`) ?? []);
  if (secrets.length > 0) warnings.push({ code: "secret-hidden", paths: secrets });
  if (!ran.ok && transaction.processes !== undefined && transaction.isLimited !== true)
    warnings.push(...limitNotes(limits, `${ran.error}${ran.output}`));
  if (created.length > 0) warnings.push({ code: "protected-created", paths: created });
  if (leftOut.length > 0) warnings.push(homeLeftOut(leftOut));
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
