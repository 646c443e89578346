import { mkdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { ProcessResult } from "../../application/ports/platform-processes.ts";
import type { ProcessEnd, ProcessEndReason } from "../../application/ports/sandbox-processes.ts";
import { createGitWatch } from "../jobs/git-places.ts";
import { processBirth, processLife, readProcessTable } from "../platform/process-table.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { pause } from "../platform/timers.ts";
import { findInsidePorts, markedBelow } from "./listening-ports.ts";
import { isPreviewWaiting, openProcessPlace, type ProcessPlace } from "./process-place.ts";
import {
  folderIdentity,
  openProcessLog,
  type ProcessLogFile,
  type ProcessRecord,
  readLanding,
  readProcessRecord,
  writeProcessRecord,
} from "./process-record.ts";
import type { Confinement } from "./start-executor.ts";

export interface KeeperDeps {
  /** The folder of the process's record. */
  readonly folder: string;
  /** Of the jobs of its workspace. */
  readonly storage: string;
  readonly sandbox: Confinement;
  /** The variables of the process, given those of its place. */
  readonly environment: (place: Readonly<Record<string, string>>) => Record<string, string>;
  readonly now: () => Date;
}

const LOOK_MS = 500;
const GIT_LOOK_MS = 3000;
const KEPT_OUTPUT_BYTES = 1024;

/** How a keeper is asked for something: by signals, because they reach it from any program of the same user. */
export const KEEPER_SIGNALS = { stop: "SIGTERM", restart: "SIGHUP" } as const;

/**
 * Accompanies one background process: starts it, logs its output, and ends it with its children on request or when its program or
 * workspace is gone. A process without a sandbox that outlives its keeper is ended, by its mark, when processes are next listed.
 */
export async function keepProcess(deps: KeeperDeps): Promise<void> {
  const { folder, now } = deps;
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
  const wishes = { stop: null as ProcessEndReason | null, again: false };
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
  const watch = setInterval(createWatch(deps, first, { stop, restart }), LOOK_MS);
  save({});
  const planted = first.over === null ? watchPlanted(deps, first.root, save) : null;
  for (;;) {
    const end = await runOnce({ ...deps, save, log, signal: running.abort.signal }, state.record);
    planted?.look();
    if (wishes.stop === null && wishes.again) {
      wishes.again = false;
      running.abort = new AbortController();
      log.add(`[picoclaw] restart ${now().toISOString()}\n`);
      continue;
    }
    clearInterval(watch);
    planted?.end();
    save({ isUp: false, openedPorts: [], end: wishes.stop === null ? end : { ...end, why: wishes.stop } });
    return;
  }
}

/** Seldom, where a look takes long: a hundredth of the time at most. */
function watchPlanted(
  { sandbox }: KeeperDeps,
  root: string,
  save: Run["save"],
): { readonly look: () => void; readonly end: () => void } {
  const findGit = createGitWatch(root);
  const obeyed = new Set(sandbox.obeyedInHomes({ links: true }));
  const findHome = () =>
    sandbox
      .obeyedInHomes({ links: true })
      .filter((path) => !obeyed.has(path))
      .map((path) => relative(root, path))
      .sort();
  const state = { known: "[[],[]]", next: 0 };
  const look = () => {
    const began = performance.now();
    const [plantedGit, plantedHome] = [findGit(), findHome()];
    const planted = JSON.stringify([plantedGit, plantedHome]);
    const now = performance.now();
    state.next = now + Math.max(GIT_LOOK_MS, (now - began) * 100);
    if (planted === state.known) return;
    state.known = planted;
    save({ plantedGit, plantedHome });
  };
  const timer = setInterval(() => {
    if (performance.now() >= state.next) look();
  }, GIT_LOOK_MS);
  return { look, end: () => clearInterval(timer) };
}

/** Polls for reasons to end or restart that arrive without an event. */
function createWatch(
  { folder, storage }: KeeperDeps,
  { owner, root, rootIdentity, restartsOnLanding, over }: ProcessRecord,
  { stop, restart }: { readonly stop: (why: ProcessEndReason) => void; readonly restart: () => void },
): () => void {
  const seen = { landing: readLanding(dirname(folder)) };
  return () => {
    if (owner !== null && processLife(owner.pid, owner.birth) === "gone") stop("program-ended");
    if (folderIdentity(root) !== rootIdentity) stop("workspace-gone");
    if (folderIdentity(folder) === null) stop("lost");
    if (over !== null && !isPreviewWaiting(storage, over)) stop("preview-over");
    const landing = restartsOnLanding ? readLanding(dirname(folder)) : seen.landing;
    if (landing === seen.landing) return;
    seen.landing = landing;
    restart();
  };
}

interface Run extends KeeperDeps {
  readonly save: (changed: Partial<ProcessRecord>) => void;
  readonly log: ProcessLogFile;
  readonly signal: AbortSignal;
}

/** From the start of the command until nothing of it lives: a command that forks into the background still counts. */
async function runOnce(parts: Run, record: ProcessRecord): Promise<ProcessEnd> {
  const { folder, sandbox, storage, log, save, signal } = parts;
  const run = join(folder, "run");
  removeTree(run);
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const place = await openProcessPlace(sandbox, record, { run, storage });
  if ("complaint" in place) return notStarted(parts, place.complaint);
  let unfollow = () => {};
  const traffic = createTrafficCount(place, record, save);
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
    const unfollowPorts = followPorts(place, record.id, save);
    const timer = setInterval(traffic.look, LOOK_MS);
    unfollow = () => {
      unfollowPorts();
      clearInterval(timer);
    };
    const result = await running;
    if (result.outcome === "not-started") return notStarted(parts, result.error?.message ?? "");
    while (!signal.aborted && (await place.processes.listJobProcesses(record.id)).length > 0)
      await pause(LOOK_MS);
    return toEnd(parts, result, place.whyEnded());
  } finally {
    unfollow();
    await place.processes.killJobProcesses(record.id).catch(() => []);
    traffic.look();
    await place.stop();
    removeTree(run);
  }
}

/** Adds what the proxy of a place saw to what the record has of earlier runs; each look takes what is new. */
function createTrafficCount({ takeTraffic }: ProcessPlace, { traffic }: ProcessRecord, save: Run["save"]) {
  const known = { reached: traffic?.reached ?? [], refused: traffic?.refused ?? [] };
  return {
    look(): void {
      const seen = takeTraffic?.() ?? { reached: [], refused: [] };
      if (seen.reached.length === 0 && seen.refused.length === 0) return;
      known.reached = addCounts(known.reached, seen.reached, ({ host }) => host);
      known.refused = addCounts(known.refused, seen.refused, ({ host, port, reason }) =>
        [host, port, reason].join(" "),
      );
      save({ traffic: { ...known } });
    },
  };
}

const MOST_HOSTS = 100;

function addCounts<T extends { readonly count: number }>(
  known: readonly T[],
  seen: readonly T[],
  keyOf: (one: T) => string,
): readonly T[] {
  const counts = new Map(known.map((one) => [keyOf(one), one]));
  for (const one of seen) {
    const before = counts.get(keyOf(one));
    if (before !== undefined || counts.size < MOST_HOSTS)
      counts.set(keyOf(one), { ...one, count: one.count + (before?.count ?? 0) });
  }
  return [...counts.values()].sort((x, y) => y.count - x.count);
}

/** Opens the ports of a network of its own outside as they come and go. Returns how to end that. */
function followPorts({ insidePorts }: ProcessPlace, id: string, save: Run["save"]): () => void {
  if (insidePorts === null) return () => {};
  const state = { known: "", isBusy: false };
  const look = async () => {
    if (state.isBusy) return;
    state.isBusy = true;
    const inside = findInsidePorts(markedBelow(await readProcessTable(), process.pid, id));
    const openedPorts = await insidePorts.follow(inside).catch(() => []);
    if (openedPorts.join() !== state.known) save({ openedPorts });
    Object.assign(state, { known: openedPorts.join(), isBusy: false });
  };
  void look();
  const timer = setInterval(() => void look(), LOOK_MS);
  return () => {
    clearInterval(timer);
    state.isBusy = true;
  };
}

function toEnd({ now }: Run, { exitCode, signal }: ProcessResult, ended: Error | null): ProcessEnd {
  const at = now().toISOString();
  return { at, why: "exited", exitCode, signal, ...(ended !== null && { message: ended.message }) };
}

function notStarted({ now }: Run, message: string): ProcessEnd {
  return { at: now().toISOString(), why: "not-started", exitCode: null, signal: null, message };
}
