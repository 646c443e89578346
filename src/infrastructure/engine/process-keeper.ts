import { lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type {
  ProcessConfinement,
  ProcessEnd,
  ProcessEndReason,
} from "../../application/ports/engine-processes.ts";
import type { ProcessResult, ProcessRunner } from "../../application/ports/jobs-transaction.ts";
import type { Sandbox } from "./folder-workspace.ts";
import {
  folderIdentity,
  openProcessLog,
  type ProcessLogFile,
  type ProcessRecord,
  readLanding,
  readProcessRecord,
  writeProcessRecord,
} from "./process-record.ts";
import { createProcessRunner } from "./process-runner.ts";
import { processBirth, processLife } from "./process-table.ts";
import { removeTree } from "./walk-folder.ts";

/** Where a background process runs: over the live folder, as far from the rest of the machine as a job is. */
export interface LivePlace {
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinement: ProcessConfinement;
  /** Why it ended by itself: the disk was full, say. */
  readonly whyEnded: () => Error | null;
  /** Ends everything in it. */
  stop(): Promise<void>;
}

/**
 * Opens the live folder for a process. In a sandbox git's own files can be read and not written: a hook or a setting that a
 * server writes would run outside with the user's next git command.
 */
export async function openLivePlace(
  sandbox: Sandbox,
  { root, run }: { readonly root: string; readonly run: string },
): Promise<LivePlace | { readonly complaint: string }> {
  const git = join(root, ".git");
  const stats = lstatSync(git, { throwIfNoEntry: false });
  const hasGit = stats?.isDirectory() === true || stats?.isFile() === true;
  const copies = [
    { original: root, copy: root },
    ...(hasGit ? [{ original: git, copy: git, readOnly: true }] : []),
  ];
  const confined = await sandbox.confine()?.(run, copies, { network: true, throwAway: true });
  if (confined !== undefined && confined !== null && "complaint" in confined) return confined;
  if (confined !== undefined && confined !== null)
    return {
      processes: confined.processes,
      environment: confined.environment,
      confinement: confined.confined ? "confined" : "none",
      whyEnded: confined.whyEnded,
      stop: confined.stop,
    };
  const limited = (await sandbox.limit()?.(run, [{ copy: root }], { network: true })) ?? null;
  if (limited !== null)
    return {
      processes: limited.processes,
      environment: limited.environment,
      confinement: "limited",
      whyEnded: () => null,
      stop: async () => limited.stop(),
    };
  return {
    processes: createProcessRunner(),
    environment: {},
    confinement: "none",
    whyEnded: () => null,
    stop: async () => {},
  };
}

export interface KeeperDeps {
  /** The folder of the process's record. */
  readonly folder: string;
  readonly open: (run: string) => Promise<LivePlace | { readonly complaint: string }>;
  /** The variables of the process, given those of its place. */
  readonly environment: (place: Readonly<Record<string, string>>) => Record<string, string>;
  readonly now: () => Date;
}

const LOOK_MS = 500;
const KEPT_OUTPUT_BYTES = 1024;

/** How a keeper is asked for something: by signals, because they reach it from any program of the same user. */
export const KEEPER_SIGNALS = { stop: "SIGTERM", restart: "SIGHUP" } as const;

interface Wishes {
  stop: ProcessEndReason | null;
  again: boolean;
}

/**
 * Stands beside one background process for as long as it runs: starts it, writes down what it prints, and ends all of it when
 * it is told to, when the program that it belongs to is gone, or when its workspace is. With the keeper its sandbox
 * goes; what ran without one bears the mark of its record and is ended by whoever lists the processes next.
 */
export async function keepProcess({ folder, open, environment, now }: KeeperDeps): Promise<void> {
  const first = readProcessRecord(folder);
  if (first === null) return;
  const keeper = { pid: process.pid, birth: processBirth(process.pid) };
  const state = { record: { ...first, keeper } satisfies ProcessRecord as ProcessRecord };
  const save = (changed: Partial<ProcessRecord>) => {
    state.record = { ...state.record, ...changed };
    // A home that was removed holds no record; the watch ends the process.
    if (folderIdentity(folder) !== null) writeProcessRecord(folder, state.record);
  };
  const log = openProcessLog(folder, first.logLimitBytes);
  const wishes: Wishes = { stop: null, again: false };
  const running = { abort: new AbortController() };
  const stop = (why: ProcessEndReason) => {
    wishes.stop ??= why;
    log.hurry();
    running.abort.abort();
  };
  const restart = () => {
    wishes.again = true;
    running.abort.abort();
  };
  process.on(KEEPER_SIGNALS.stop, () => stop("stopped"));
  process.on("SIGINT", () => stop("stopped"));
  process.on(KEEPER_SIGNALS.restart, restart);
  const watch = setInterval(createWatch(folder, first, { stop, restart }), LOOK_MS);
  save({});
  for (;;) {
    const end = await runOnce(
      { folder, open, environment, now, save, log, wishes, signal: running.abort.signal },
      state.record,
    );
    if (wishes.stop === null && wishes.again) {
      wishes.again = false;
      running.abort = new AbortController();
      log.add(`[picoclaw] restart ${now().toISOString()}\n`);
      continue;
    }
    clearInterval(watch);
    save({ isUp: false, end: wishes.stop === null ? end : { ...end, why: wishes.stop } });
    return;
  }
}

/** Looks for the reasons to end or to start again that nobody tells. */
function createWatch(
  folder: string,
  { owner, root, rootIdentity, restartsOnLanding }: ProcessRecord,
  { stop, restart }: { readonly stop: (why: ProcessEndReason) => void; readonly restart: () => void },
): () => void {
  const seen = { landing: readLanding(dirname(folder)) };
  return () => {
    if (owner !== null && processLife(owner.pid, owner.birth) === "gone") stop("program-ended");
    if (folderIdentity(root) !== rootIdentity) stop("workspace-gone");
    if (folderIdentity(folder) === null) stop("lost");
    const landing = restartsOnLanding ? readLanding(dirname(folder)) : seen.landing;
    if (landing === seen.landing) return;
    seen.landing = landing;
    restart();
  };
}

interface Run extends KeeperDeps {
  readonly save: (changed: Partial<ProcessRecord>) => void;
  readonly log: ProcessLogFile;
  readonly wishes: Wishes;
  readonly signal: AbortSignal;
}

/** From the start of the command until nothing of it lives: one that goes into the background is still the process. */
async function runOnce(parts: Run, record: ProcessRecord): Promise<ProcessEnd> {
  const { folder, log, save, signal } = parts;
  const run = join(folder, "run");
  removeTree(run);
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const place = await parts.open(run);
  if ("complaint" in place) return notStarted(parts, place.complaint);
  try {
    const running = place.processes.runProcess({
      argv: ["bash", "-c", record.command],
      cwd: record.root,
      env: {
        ...parts.environment(place.environment),
        PWD: record.root,
        ...(record.port !== null && { PORT: String(record.port) }),
      },
      timeoutMs: Number.POSITIVE_INFINITY,
      graceMs: record.graceMs,
      signal,
      outputLimitBytes: KEPT_OUTPUT_BYTES,
      jobMarker: record.id,
      onOutput: (_, text) => log.add(text),
    });
    // Requests are carried out in their order: with this answer the command has been started.
    await place.processes.listJobProcesses(record.id);
    save({ runs: record.runs + 1, isUp: true, confinement: place.confinement, end: null });
    const result = await running;
    if (result.outcome === "not-started") return notStarted(parts, result.error?.message ?? "");
    while (!signal.aborted && (await place.processes.listJobProcesses(record.id)).length > 0)
      await pause(LOOK_MS);
    return toEnd(parts, result, place.whyEnded());
  } finally {
    await place.processes.killJobProcesses(record.id).catch(() => []);
    await place.stop();
    removeTree(run);
  }
}

function toEnd({ now }: Run, { exitCode, signal }: ProcessResult, ended: Error | null): ProcessEnd {
  const at = now().toISOString();
  return { at, why: "exited", exitCode, signal, ...(ended !== null && { message: ended.message }) };
}

function notStarted({ now }: Run, message: string): ProcessEnd {
  return { at: now().toISOString(), why: "not-started", exitCode: null, signal: null, message };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
