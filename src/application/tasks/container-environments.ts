import { quoteWords } from "../../domain/containers/clone-plan.ts";
import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import type { PrepareEvent, PrepareFailure, PrepareNotice } from "../../domain/containers/prepare-event.ts";
import { CLEAR_TOOL_FOLDERS } from "../../domain/policy/tool-folders.ts";
import type { ExecutionEnvironmentManager } from "../containers/execution-environment-manager.ts";
import type { SandboxManager } from "../ports/containers.ts";
import type { ModelTool } from "../ports/models.ts";
import type {
  EnvironmentCall,
  EnvironmentTrouble,
  FailedInstall,
  PrintOptions,
  TaskEnvironment,
  TaskEnvironments,
} from "../ports/tasks.ts";

/**
 * Scripts for the shell of a task's environment, in the project's folder. They use an index of their own: what is staged stays
 * staged. Folders that tools fill are not even looked at, unless the project tracks some of that name.
 */

/** Prints the tree of everything in the project that git does not ignore, on the cloned commit. */
export function treeScript(index: string, base: string): string {
  return `${useIndex(index)}${useSeparateGit(base)}${writeExactTree}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/**
 * Prints the tree of the change: the cloned commit with the changes since `start`. Files left by the
 * installation of dependencies are part of it only if they were changed again.
 */
export function changeScript(
  index: string,
  { base, start, exact }: { readonly base: string; readonly start: string; readonly exact: boolean },
): string {
  const raw = `git diff-tree -r --no-abbrev --no-renames ${start} "$after"`;
  const entries = `sed 's/^:[0-7]* \\([0-7]*\\) [0-9a-f]* \\([0-9a-f]*\\) [A-Z]/\\1 \\2/'`;
  const put = `${raw} > "$GIT_INDEX_FILE.raw" && git read-tree ${base} && ${entries} < "$GIT_INDEX_FILE.raw" | git update-index --index-info && git write-tree`;
  const [set, write] = exact ? [useSeparateGit(base), writeExactTree] : ["", writeTree];
  return `${useIndex(index)}${set}after=$(${write}) && ${put}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Brings a patch of the cloned commit, from standard input, into the folder, over what the installation left there. */
export function bringInScript(index: string, base: string): string {
  const names = (filter: string) =>
    `git diff-tree -r -z --no-renames --name-only --diff-filter=${filter} ${base} "$after"`;
  const apply = `git read-tree ${base} && git apply --cached --binary --whitespace=nowarn - && after=$(git write-tree)`;
  const write = `${names("D")} | xargs -0 rm -f -- && ${names("AMT")} | git checkout-index -f -z --stdin`;
  return `${useIndex(index)}${apply} && ${write}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/**
 * Makes the files those of `tree`, and prints their former tree. Files that were added since the other tree
 * and that git does not ignore are removed; tools' files stay. It waits a second: tools that compile (Python)
 * identify a file by its size and second.
 */
function switchScript(index: string, tree: string): string {
  const keep = CLEAR_TOOL_FOLDERS.map((name) => `-e ${name}`).join(" ");
  const turn = `git read-tree --reset -u ${tree} && git clean -fdq ${keep} && echo "$was"`;
  return `${useIndex(index)}was=$(${writeTree}) && sleep 1 && ${turn}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Makes only these files those of `tree`, or takes them away where it has none, and prints the tree that all of them were. */
function switchPathsScript(index: string, tree: string, paths: readonly string[]): string {
  const one = `if git ls-files --error-unmatch -- "$path" >/dev/null 2>&1; then git checkout-index -f -- "$path"; else rm -f -- "$path"; fi`;
  const turn = `export GIT_LITERAL_PATHSPECS=1; git read-tree ${tree} && for path in ${quoteWords(paths)}; do ${one} || exit 1; done && echo "$was"`;
  return `${useIndex(index)}was=$(${writeTree}) && sleep 1 && ${turn}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

export function diffCommand(base: string, tree: string): string {
  return `git diff --binary --full-index --no-ext-diff --no-textconv --no-color --no-renames ${base} ${tree}`;
}

function useIndex(index: string): string {
  return `export GIT_INDEX_FILE=${index}; `;
}

/**
 * A git directory made on the spot, with the project's objects alone: the project's own, and the user's settings, can be
 * written by its code. A filter there would change what is committed, and an entry of its index would hide a change.
 */
function useSeparateGit(base: string): string {
  const made = 'd="$GIT_INDEX_FILE.d"; rm -rf "$d"; export HOME="$d/home" XDG_CONFIG_HOME="$d/home"';
  const init = 'git init --quiet --template= "$d/own" 2>/dev/null';
  const use =
    'export GIT_DIR="$d/own/.git" GIT_WORK_TREE="$PWD" GIT_OBJECT_DIRECTORY="$PWD/.git/objects" GIT_CONFIG_GLOBAL=/dev/null';
  return `${made}; mkdir -p "$d/home" && ${init} && ${use} && git read-tree ${base} || exit 1; `;
}

const REMOVE_INDEX = 'rm -rf "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.raw" "$GIT_INDEX_FILE.d"';

const TOOL_FOLDER_NAMES = CLEAR_TOOL_FOLDERS.join(" ");
const TOOL_FOLDER_PATTERN = CLEAR_TOOL_FOLDERS.map((name) => name.replace(".", "\\.")).join("|");

const addAll = `tracked=" $(git ls-files | grep -oE '(^|/)(${TOOL_FOLDER_PATTERN})/' | tr -d / | sort -u | tr '\\n' ' ') "
set -- .
for name in ${TOOL_FOLDER_NAMES}; do
  case "$tracked" in *" $name "*) ;; *) set -- "$@" ":(exclude,glob)**/$name/**" ;; esac
done
git add --update && git add --all -- "$@" && git write-tree; }`;

// With its time, by which git knows what may have changed in the same second.
const writeTree = `{ cp -p .git/index "$GIT_INDEX_FILE" 2>/dev/null
${addAll}`;

// Of the project's own index only the names count: an ignored file that was added belongs to the change. Everything is read anew.
const writeExactTree = `{ GIT_DIR="$PWD/.git" GIT_INDEX_FILE="$PWD/.git/index" git ls-files -z | git update-index -z --add --remove --stdin
${addAll}`;

/**
 * A tool's answer as a model reads it: its facts in one line, then the text as it stands. Escaped in JSON, a text costs more and
 * is copied into an edit with its escapes.
 */
export function envelopeText(envelope: object): string {
  const { data } = envelope as { readonly data?: object };
  const { content, ...facts } = (data ?? {}) as { readonly content?: unknown };
  if (typeof content !== "string") return JSON.stringify(envelope);
  return `${JSON.stringify({ ...envelope, data: facts })}\n${content}`;
}

const BACK_MS = 120_000;

interface SwitchedPlace {
  readonly run: TaskEnvironment["run"];
  readonly index: string;
  readonly tree: string;
  /** Only these; default: all. */
  readonly paths?: readonly string[] | undefined;
}

/** Does something while the files of an environment are those of a tree, and brings back what lay there. */
export async function withSwitchedTree<T>(
  place: SwitchedPlace,
  act: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { index, tree, paths } = place;
  const script = paths === undefined ? switchScript(index, tree) : switchPathsScript(index, tree, paths);
  const switched = await place.run(script, signal);
  const was = switched.stdout.trim();
  if (switched.exitCode !== 0 || !/^[0-9a-f]{40,64}$/.test(was))
    throw new Error(`the files cannot be switched: ${switched.stderr.trim()}`);
  const [done] = await Promise.allSettled([act()]);
  // Also when it was stopped meanwhile: whoever keeps the change must find it.
  const back = await place.run(switchScript(place.index, was), AbortSignal.timeout(BACK_MS));
  if (back.exitCode !== 0) throw new Error(`the change cannot be put back: ${back.stderr.trim()}`);
  if (done.status === "rejected") throw done.reason;
  return done.value;
}

export interface ContainerEnvironmentDeps {
  readonly manager: Pick<
    ExecutionEnvironmentManager,
    "tryPrepare" | "executeIn" | "cleanup" | "getAvailableEnvironments"
  >;
  readonly sandboxes: Pick<SandboxManager, "exec">;
  readonly tools: readonly ModelTool[];
  readonly promptFragment: (environmentName: string) => string;
  /** Calls a tool of the toolkit on the container's files; its envelope as JSON. */
  readonly callTool: (
    info: ContainerInfo,
    tool: string,
    args: unknown,
    signal: AbortSignal,
  ) => Promise<{ readonly status: string }>;
  /** The worker CLI of that kind in a container; a text says why it cannot work there. */
  readonly openWorker: (
    kind: string,
    info: ContainerInfo,
  ) => Promise<NonNullable<TaskEnvironment["runWorker"]> | string>;
  /** The image that a kind of worker CLI comes in. */
  readonly workerImage: (kind: string) => string;
  readonly describe: {
    readonly event: (event: PrepareEvent) => string | null;
    readonly notice: (notice: PrepareNotice) => string;
    readonly failure: (failure: PrepareFailure) => string;
  };
}

const EXECUTE = "command-executor_execute_command";
const DIFFERENCE_BYTES = 64 * 1024 ** 2;
const GIT_MS = 120_000;
/** Notices that a reviewer of the result wants to know. */
const WARNINGS: ReadonlySet<string> = new Set([
  "install-failed",
  "program-missing",
  "install-offline",
  "nearest",
]);

/** Only folders of the image, which the project's code cannot write: an installation may put a `git` of its own into the user's. */
const OWN_PROGRAMS = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH; ";

const INDEX = "/workspace/tmp/.picoclaw-index";

/** Tasks' environments over the manager of containers. */
export function createContainerEnvironments(parts: ContainerEnvironmentDeps): TaskEnvironments {
  const { manager, describe } = parts;
  return {
    available: () => manager.getAvailableEnvironments(),
    tools: parts.tools,
    promptFragment: parts.promptFragment,
    async prepare(request) {
      const { taskId, claim, environment, worker, cloneUrl, branch, targetBranch, signal } = request;
      const prepared = await manager.tryPrepare(
        { uuid: taskId, repository: cloneUrl, branch, ...(targetBranch !== null && { targetBranch }) },
        environment,
        {
          ...(worker !== null && { worker: parts.workerImage(worker) }),
          claim,
          signal,
          onEvent(event) {
            const text = describe.event(event);
            if (text !== null) request.onProgress(text);
          },
        },
      );
      if (!prepared.ok) return toEnvironmentTrouble(prepared, describe.failure(prepared));
      const warnings = prepared.notices.filter(({ code }) => WARNINGS.has(code)).map(describe.notice);
      const failedInstalls = prepared.notices.flatMap((notice) =>
        notice.code === "install-failed" ? [failedInstall(notice)] : [],
      );
      const found = { warnings, failedInstalls };
      const opened = await openEnvironment(parts, prepared.container, found, signal);
      const runWorker =
        worker === null || !opened.ok ? null : await parts.openWorker(worker, prepared.container);
      if (!opened.ok || typeof runWorker === "string") await manager.cleanup(taskId, { claim });
      if (typeof runWorker === "string") return { ok: false, kind: "container", message: runWorker };
      return opened.ok && runWorker !== null ? { ...opened, runWorker } : opened;
    },
    async remove(taskId, claim) {
      await manager.cleanup(taskId, { claim });
    },
  };
}

function failedInstall({
  command,
  output,
  why,
  leftOut,
}: Extract<PrepareNotice, { code: "install-failed" }>): FailedInstall {
  return { command, output, refused: why.kind === "refused" ? why.hosts : [], leftOut };
}

async function openEnvironment(
  parts: ContainerEnvironmentDeps,
  info: ContainerInfo,
  found: Pick<TaskEnvironment, "warnings" | "failedInstalls">,
  signal: AbortSignal,
): Promise<TaskEnvironment | EnvironmentTrouble> {
  const { manager } = parts;
  const run: TaskEnvironment["run"] = async (command, until) => {
    const { exit_code, stdout, stderr, duration_ms } = await manager.executeIn(info, command, null, {
      signal: until,
      byHand: true,
    });
    return { exitCode: exit_code, stdout, stderr, durationMs: duration_ms };
  };
  const head = await run(`${OWN_PROGRAMS}git rev-parse HEAD`, signal);
  const base = head.stdout.trim();
  const before = await run(`${OWN_PROGRAMS}${treeScript(INDEX, base)}`, signal);
  if (head.exitCode !== 0 || before.exitCode !== 0) {
    const message = `${head.stderr}${before.stderr}`.trim();
    return { ok: false, kind: signal.aborted ? "aborted" : "container", message };
  }
  const start = before.stdout.trim();
  return {
    ok: true,
    name: info.environment_name,
    baseCommit: base,
    ...found,
    run,
    print: (command, options) => printCommand(parts.sandboxes, info, `${OWN_PROGRAMS}${command}`, options),
    call: (tool, args, until) => callTool(parts, info, { tool, args, signal: until }),
    async difference(until, { exact }) {
      const after = await run(`${OWN_PROGRAMS}${changeScript(INDEX, { base, start, exact })}`, until);
      if (after.exitCode !== 0) return after.stderr.trim();
      const tree = after.stdout.trim();
      const diff = `${OWN_PROGRAMS}${diffCommand(base, tree)}`;
      const patch = await printCommand(parts.sandboxes, info, diff, {
        limitBytes: DIFFERENCE_BYTES,
        signal: until,
      });
      return typeof patch === "string" ? patch : { patch, tree };
    },
    asCloned: (act, until, paths) =>
      withSwitchedTree(
        {
          run: (script, signal) => run(`${OWN_PROGRAMS}${script}`, signal),
          index: INDEX,
          tree: start,
          paths,
        },
        act,
        until,
      ),
    async bringIn(patch, until) {
      const result = await parts.sandboxes.exec(info.container_id, {
        command: `${OWN_PROGRAMS}${bringInScript(INDEX, base)}`,
        cwd: info.workspace_path,
        stdin: patch,
        timeoutMs: GIT_MS,
        outputLimitBytes: 10_000,
        signal: until,
      });
      return result.exitCode === 0 ? null : result.stderr.trim() || result.outcome;
    },
  };
}

/** All bytes that a command prints; a text states why there are none. */
async function printCommand(
  sandboxes: Pick<SandboxManager, "exec">,
  info: ContainerInfo,
  command: string,
  { stdin, limitBytes, signal }: PrintOptions,
): Promise<Uint8Array | string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const result = await sandboxes.exec(info.container_id, {
    command,
    cwd: info.workspace_path,
    timeoutMs: GIT_MS,
    outputLimitBytes: 10_000,
    signal,
    ...(stdin !== undefined && { stdin }),
    onBytes(stream, bytes) {
      if (stream !== "stdout") return;
      size += bytes.length;
      if (size <= limitBytes) pieces.push(bytes.slice());
    },
  });
  if (result.exitCode !== 0) return result.stderr.trim() || result.outcome;
  return size <= limitBytes ? Buffer.concat(pieces) : `larger than ${limitBytes} bytes`;
}

async function callTool(
  { manager, callTool: call }: ContainerEnvironmentDeps,
  info: ContainerInfo,
  { tool, args, signal }: { readonly tool: string; readonly args: unknown; readonly signal: AbortSignal },
): Promise<EnvironmentCall> {
  if (tool !== EXECUTE) {
    const envelope = await call(info, tool, args, signal);
    return { ok: envelope.status === "success", text: envelopeText(envelope) };
  }
  const { command, working_directory: cwd } = (args ?? {}) as {
    command?: unknown;
    working_directory?: unknown;
  };
  if (typeof command !== "string" || command.trim() === "")
    return { ok: false, text: "error: `command` must be a text" };
  const result = await manager.executeIn(info, command, typeof cwd === "string" ? cwd : null, { signal });
  const { exit_code: exitCode, stdout, stderr, duration_ms: durationMs } = result;
  return {
    ok: exitCode === 0,
    text: JSON.stringify(result),
    command: { command, exitCode, stdout, stderr, durationMs },
  };
}

const CLONE_FAILURES: ReadonlySet<PrepareFailure["code"]> = new Set([
  "repository-missing",
  "repository-denied",
  "ref-missing",
  "not-a-repository",
  "host-unreachable",
  "clone-timeout",
  "clone-failed",
  "credential-kept",
]);

function toEnvironmentTrouble({ code }: PrepareFailure, message: string): EnvironmentTrouble {
  if (code === "aborted") return { ok: false, kind: "aborted", message };
  return { ok: false, kind: CLONE_FAILURES.has(code) ? "clone" : "container", message };
}
