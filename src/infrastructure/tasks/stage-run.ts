import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import type { ContainerLimits, ContainerMount, SandboxManager } from "../../application/ports/containers.ts";
import type { ProcessResult, ProcessRunner } from "../../application/ports/platform-processes.ts";
import type { JobResult, Note } from "../../domain/jobs/result.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { trySystemCall } from "../../domain/platform/error-text.ts";
import type { RunJob, WorkerRun } from "../../domain/tasks/task-record.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { beginContainerTransaction, type UnlandedRuns } from "../engine/container-transaction.ts";
import { copyFolder, takeManifest } from "../engine/copied-roots.ts";
import { rootsFor } from "../platform/git-roots.ts";
import { mountBelow } from "../platform/mount-points.ts";
import { removeTree } from "../platform/remove-tree.ts";
import type { LaidRoot, Sandbox } from "../sandbox/create-sandbox.ts";
import { CONTAINER_HOME, restoreInside } from "./credentials.ts";
import type { CliResult } from "./run-cli.ts";

interface JobWords {
  readonly wordNote: (note: Note) => string;
  readonly diffOf: (jobId: string) => Promise<string>;
  readonly mask: (text: string) => string;
}

export function emptyRun(id: string, startedAt: string): WorkerRun {
  return {
    id,
    startedAt,
    finishedAt: startedAt,
    exitCode: null,
    rawOutput: "",
    summary: "",
    error: null,
    usage: NO_USAGE,
    saidChanged: [],
    job: null,
  };
}

/** For the job's journal. Its output is the worker's last words: the event stream is kept with the task. */
function processResult({ exec, error, findings }: CliResult): ProcessResult {
  const output = findings.summary;
  const said = { exitCode: exec.exitCode, signal: exec.signal, output, stdout: output, stderr: "" };
  const rest = { truncatedBytes: 0, durationMs: exec.durationMs };
  switch (exec.outcome) {
    case "exited":
      return { ...said, ...rest, outcome: "exited", exitCode: error === null ? 0 : exec.exitCode || 1 };
    case "signaled":
    case "timed-out":
    case "aborted":
      return { ...said, ...rest, outcome: exec.outcome };
    case "disconnected":
    case "not-started": {
      const message = exec.failure?.detail ?? exec.outcome;
      return {
        ...said,
        ...rest,
        outcome: "not-started",
        error: { reason: "unknown", message, cause: exec.failure },
      };
    }
  }
}

/** More of a diff than a planner is ever shown. */
const KEPT_DIFF = 32_000;

export async function toRunJob(
  result: JobResult,
  { wordNote, diffOf, mask }: JobWords,
): Promise<RunJob | null> {
  if (result.about === "refusal") return null;
  const { outcome, conflicts } = result;
  const diff = result.changes.length === 0 ? "" : await diffOf(result.jobId);
  const number = result.numbers?.[result.jobId];
  return {
    id: result.jobId,
    ...(number !== undefined && { number }),
    outcome,
    changes: result.changes,
    diff: cutMiddle(mask(diff), KEPT_DIFF),
    notes: result.notes.map(wordNote),
    conflicts: outcome === "conflict" ? conflicts.map(({ path }) => path) : [],
  };
}

export function refusalText(result: JobResult): string {
  if (result.about === "job") return "";
  return result.why.kind === "refused" ? result.why.refusal.message : result.why.message;
}

/** The run itself succeeded, but the job restored something. */
export function putBackText(error: string | undefined): string | null {
  return error === undefined || error === "" ? null : error;
}

const PROJECT_FOLDER = "/workspace/project";

/** The view a task's container has of the repository: what is mounted where, and where its writes go on the host. */
export interface TaskLayers {
  readonly kind: "overlay" | "copy";
  readonly roots: readonly (LaidRoot & { readonly target: string })[];
  readonly mounts: readonly ContainerMount[];
  readonly directory: string;
  readonly folder: string;
}

export interface LayerDeps {
  readonly workspace: string;
  /** A folder of this task's own, on the workspace's file system. */
  readonly folder: string;
  readonly user: { readonly uid: number; readonly gid: number };
  /** Never shown to the worker. */
  readonly ownFolders: readonly string[];
  readonly copyLimitBytes: number;
}

/** Why the other kind has to serve; an overlay does not show what is mounted below it. */
export function overlayTrouble(workspace: string): string | null {
  const below = mountBelow(rootsFor(workspace));
  if (below !== null) return `something is mounted below the workspace: ${below}`;
  const bad = rootsFor(workspace).find((path) => /[,:\\]/.test(path));
  return bad === undefined ? null : `an overlay takes no , or : in a path: ${bad}`;
}

/** A text says why it could not be done; nothing is left then. */
export function makeLayers(deps: LayerDeps, kind: "overlay" | "copy"): TaskLayers | string {
  const { workspace, folder, user } = deps;
  removeLayers(folder);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const [top = workspace, ...others] = rootsFor(workspace);
  const complaint = kind === "copy" ? copyRoots(deps, [top, ...others]) : null;
  if (complaint !== null) {
    removeLayers(folder);
    return complaint;
  }
  const roots = [top, ...others].map((path, index) => {
    const upper = join(folder, `u${index}`);
    if (kind === "overlay") {
      mkdirSync(upper);
      mkdirSync(join(folder, `w${index}`));
      const { mode, uid, gid } = lstatSync(path);
      if (process.getuid?.() === 0) chownSync(upper, uid, gid);
      chmodSync(upper, mode & 0o7777);
    }
    // A git directory elsewhere is named by its absolute path in `.git`.
    return {
      path,
      upper,
      redirects: false,
      hides: new Set<string>(),
      target: index === 0 ? PROJECT_FOLDER : path,
    };
  });
  const mounts = roots.map(({ path, upper, target }, index): ContainerMount => {
    if (kind === "copy") return { kind: "bind", source: upper, target, readOnly: false };
    return { kind: "overlay", lower: [path], upper, work: join(folder, `w${index}`), target };
  });
  const below = relative(top, workspace);
  return {
    kind,
    folder,
    roots,
    mounts: [...mounts, ...accountMounts(folder, user)],
    directory: below === "" ? PROJECT_FOLDER : join(PROJECT_FOLDER, below),
  };
}

function copyRoots(
  { folder, ownFolders, copyLimitBytes }: LayerDeps,
  roots: readonly string[],
): string | null {
  const bytes = roots.reduce((sum, root) => sum + takeManifest(root, ownFolders).bytes, 0);
  if (bytes > copyLimitBytes) return `a copy would hold ${bytes} bytes, more than worker.copy_limit`;
  for (const [index, root] of roots.entries()) {
    const [complaint] = copyFolder(root, join(folder, `u${index}`), ownFolders);
    if (complaint !== undefined) return complaint;
  }
  return null;
}

/**
 * The engine mounts as root, and the kernel leaves a folder in each work folder that only root can look into. An empty one the owner of
 * the folder above may remove; where whiteouts were made, one may be left inside, and false says so.
 */
function removeLayers(folder: string): boolean {
  for (let index = 0; existsSync(join(folder, `w${index}`)); index++) {
    const work = join(folder, `w${index}`);
    for (const name of readdirSync(work)) trySystemCall(() => rmdirSync(join(work, name)));
  }
  if (trySystemCall(() => removeTree(folder))) return true;
  // So that root without its powers, in a container, can walk to what is root's.
  chmodSync(folder, 0o755);
  return false;
}

/** A user with any number has a name and a home inside: programs ask for both. */
function accountMounts(folder: string, { uid, gid }: LayerDeps["user"]): ContainerMount[] {
  const passwd = [
    "root:x:0:0:root:/root:/bin/sh",
    ...(uid === 0 ? [] : [`worker:x:${uid}:${gid}:worker:${CONTAINER_HOME}:/bin/sh`]),
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
  ];
  const group = ["root:x:0:", ...(gid === 0 ? [] : [`worker:x:${gid}:`]), "nogroup:x:65534:"];
  return [passwd, group].map((lines, index) => {
    const source = join(folder, index === 0 ? "passwd" : "group");
    writeFileSync(source, `${lines.join("\n")}\n`, { mode: 0o644 });
    return { kind: "bind", source, target: `/etc/${basename(source)}`, readOnly: true };
  });
}

export interface StageRunDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly layers: TaskLayers;
  readonly workspace: string;
  readonly unlanded: UnlandedRuns | null;
  readonly runCli: () => Promise<CliResult>;
}

/** One run of a CLI, as the processes of a job see it. */
export function stageRun({ sandbox, container, layers, workspace, unlanded, runCli }: StageRunDeps) {
  let result: CliResult | null = null;
  let sealed: UnlandedRuns | null = null;
  let frozen = false;
  let ended = false;
  /** Resumes the container; does nothing if it is not paused any more. */
  const goOn = async (): Promise<void> => {
    if (frozen) await sandbox.thaw(container);
    frozen = false;
  };
  const processes: ProcessRunner = {
    runProcess: async () => {
      result = await runCli();
      return processResult(result);
    },
    listJobProcesses: async () => backgroundProcesses(await sandbox.listProcesses(container)),
    killJobProcesses: async () => {
      if (frozen || ended) return [];
      const left = backgroundProcesses(await sandbox.listProcesses(container));
      for (const { pid } of left) await sandbox.endProcess(container, pid);
      // The list is made inside, where a process can pass itself off as one of ours: until the job is judged and
      // copied, nothing in there moves.
      frozen = await sandbox.freeze(container);
      // A container that cannot be frozen is ended; the next run gets another.
      if (!frozen) await sandbox.stopContainer(container, { force: true });
      ended = !frozen;
      return left.map((each) => ({ ...each, survived: false }));
    },
  };
  const { roots, kind } = layers;
  const inside = {
    workspace,
    roots,
    kind,
    processes,
    goOn,
    restoreInside: (paths: Parameters<typeof restoreInside>[3]) =>
      restoreInside(sandbox, container, roots, paths),
    unlanded,
    onSealed: (those: UnlandedRuns) => {
      sealed = those;
    },
  };
  const stage: Sandbox = {
    overlay: async (folder) => beginContainerTransaction(inside, folder),
    fallsBack: () => null,
    confine: () => null,
    limit: () => null,
    hiddenInHomes: () => [],
    secretFiles: () => [],
    obeyedInHomes: () => [],
  };
  return {
    stage,
    result: (): CliResult | null => result,
    goOn,
    /** The container could not be frozen and was ended. */
    isContainerGone: () => ended,
    /** The part that does not land is carried over to the next run; null until it is staged. */
    unlanded: (): UnlandedRuns | null => sealed,
  };
}

function backgroundProcesses(listed: Awaited<ReturnType<SandboxManager["listProcesses"]>>) {
  return Array.isArray(listed) ? listed : [];
}

export interface SweepLayersDeps {
  readonly taskId: string;
  readonly limits: ContainerLimits;
  readonly sandbox: SandboxManager;
}

const SWEPT_FOLDER = "/var/tmp/layers";

/** Files that the engine left as root are removed as root, in a container that sees nothing else. */
export async function sweepLayers(
  { taskId, limits, sandbox }: SweepLayersDeps,
  folder: string,
  image: string,
): Promise<void> {
  if (removeLayers(folder)) return;
  const sweeper = await sandbox.startContainer({
    name: `agent-runner-${taskId}-sweeper`,
    taskId,
    image,
    user: { uid: 0, gid: 0 },
    workingDirectory: "/",
    roots: ["/"],
    limits,
    network: { mode: "none" },
    mounts: [{ kind: "bind", source: folder, target: SWEPT_FOLDER, readOnly: false }],
  });
  if (!sweeper.ok) return;
  const command = `for work in ${SWEPT_FOLDER}/w*; do chmod 700 "$work"/* && rm -rf "$work"/*; done`;
  await sandbox.exec(sweeper.id, { command, cwd: "/", timeoutMs: 30_000, outputLimitBytes: 4096 });
  await sandbox.stopContainer(sweeper.id, { force: true });
  removeLayers(folder);
}
