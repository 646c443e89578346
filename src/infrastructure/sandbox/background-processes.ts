import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StartedBy } from "../../application/ports/jobs-transaction.ts";
import type {
  BackgroundProcess,
  ProcessEndReason,
  ProcessLog,
  ProcessNotStarted,
  ProcessStart,
  ProcessStarted,
  ProcessState,
  ProcessStopped,
  WorkspaceProcesses,
} from "../../application/ports/sandbox-processes.ts";
import { isUp } from "../../application/sandbox/process-report.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { withFolderLocks } from "../platform/folder-lock.ts";
import { findInstallation, runtimeArguments } from "../platform/installation.ts";
import { killProcesses, killStrays, registerOwnChild } from "../platform/process-runner.ts";
import { type Life, processBirth, processLife, readProcessTable } from "../platform/process-table.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { pause } from "../platform/timers.ts";
import { findFreePort, findListeningPorts, isPortTaken, markedBelow } from "./listening-ports.ts";
import { KEEPER_SIGNALS } from "./process-keeper.ts";
import {
  type BornProcess,
  folderIdentity,
  isProcessName,
  listProcessFolders,
  nameFromCommand,
  type ProcessRecord,
  processesFolder,
  readLogTail,
  readProcessRecord,
  workspaceProcessesFolder,
  writeProcessRecord,
} from "./process-record.ts";

/** `processes:` of the configuration. */
export interface ProcessesSettings {
  readonly keep: boolean;
  readonly limit: number;
  readonly logLimitBytes: number;
}

export interface BackgroundProcessesDeps {
  /** PicoClaw's. */
  readonly home: string;
  /** The workspace, without symlinks. */
  readonly root: string;
  readonly configFile: string | null;
  readonly settings: ProcessesSettings;
  /** The environment of this program: the keeper is the same program. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration requires a confinement that is not available here. */
  readonly isUnconfinable: boolean;
  /** Whether commands of such a start have another network than this machine's. */
  readonly hasOwnNetwork: (startedBy: StartedBy) => boolean;
  /** The id of a preview that waits, by its number or its id. */
  readonly findPreview: (name: string) => string | null;
  /** The process that ends, when it exits, all background processes that are not kept. */
  readonly pid: number;
  /** Default: 5 seconds, in which a database writes what it has. */
  readonly graceMs?: number;
  readonly mask: (text: string) => string;
  readonly now: () => Date;
  readonly random: (bytes: number) => Uint8Array;
}

const LOCK_MS = 10_000;
const POLL_MS = 50;
/** After this time a running process counts as started. */
const SETTLED_MS = 1_000;
/** The time limit for a process with a port to listen there. */
const LISTENING_MS = 15_000;
/** A sandbox on a busy machine. */
const KEEPER_START_MS = 30_000;
const GRACE_MS = 5_000;
/** The keeper's own grace, its kill, and some. */
const STOP_MS = 12_000;
const SHOWN_LINES = 20;
const MOST_ENDED = 20;
const KEEPER = "keeper.json";
const KEEPER_LOG = "keeper.log";

export function createBackgroundProcesses(deps: BackgroundProcessesDeps): WorkspaceProcesses {
  const { home, root } = deps;
  const folder = workspaceProcessesFolder(home, root);
  const folderOf = (name: string) => join(folder, name);

  async function lock<T>(use: () => Promise<T>): Promise<T | "busy"> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return withFolderLocks([folder], { timeoutMs: LOCK_MS }, use);
  }

  async function start(request: ProcessStart): Promise<ProcessStarted> {
    const command = request.command.trim();
    if (command === "") return { ok: false, why: "empty-command" };
    const { name: wanted } = request;
    if (wanted !== undefined && !isProcessName(wanted)) return { ok: false, why: "bad-name", name: wanted };
    if (deps.isUnconfinable) return { ok: false, why: "not-confined" };
    const begun = await lock(() => begin({ ...request, command }));
    if (begun === "busy") return { ok: false, why: "busy" };
    return typeof begun === "string" ? settle(begun) : begun;
  }

  /** Under the lock: the name of one whose keeper was started. */
  async function begin(request: ProcessStart): Promise<string | ProcessNotStarted> {
    const { command, port: wanted = null } = request;
    const over = request.over === undefined ? null : deps.findPreview(request.over);
    const all = await listAll(deps);
    const alive = all.filter(isUp);
    if (alive.length >= deps.settings.limit) return { ok: false, why: "limit", most: deps.settings.limit };
    const own = all.filter((one) => one.root === root && one.state.kind !== "ended");
    const name = request.name ?? freeName(nameFromCommand(command), own);
    if (own.some((one) => one.name === name)) return { ok: false, why: "name-taken", name };
    if (request.over !== undefined && over === null)
      return { ok: false, why: "no-preview", jobId: request.over };
    const hasOwnNetwork = deps.hasOwnNetwork(request.startedBy);
    if (wanted !== null && !hasOwnNetwork) {
      const port = wanted;
      const holder = alive.find((one) => one.ports.includes(port) || one.port === port);
      if (holder !== undefined || (await isPortTaken(port)))
        return { ok: false, why: "port-taken", port, holder: holder?.name ?? null };
    }
    const port = wanted ?? (over === null ? null : await findFreePort());
    const keeps = request.keeps ?? deps.settings.keep;
    removeTree(folderOf(name));
    for (const old of oldestEnded(all.filter((one) => one.root === root))) removeTree(folderOf(old.name));
    launch({
      name,
      id: newId(deps),
      command,
      startedBy: request.startedBy,
      root,
      rootIdentity: folderIdentity(root) ?? "",
      startedAt: deps.now().toISOString(),
      port,
      hasOwnNetwork,
      openedPorts: [],
      restartsOnLanding: request.restartsOnLanding ?? false,
      over,
      configFile: deps.configFile,
      logLimitBytes: deps.settings.logLimitBytes,
      graceMs: deps.graceMs ?? GRACE_MS,
      owner: keeps ? null : { pid: deps.pid, birth: processBirth(deps.pid) },
      keeper: null,
      runs: 0,
      isUp: false,
      confinement: null,
      end: null,
    });
    return name;
  }

  function launch(record: ProcessRecord): void {
    const at = folderOf(record.name);
    writeProcessRecord(at, record);
    // Not into the record, which belongs to the keeper from here on.
    writeFileSync(join(at, KEEPER), JSON.stringify(startKeeper(deps.env, at)), { mode: 0o600 });
  }

  async function settle(name: string): Promise<ProcessStarted> {
    const began = performance.now();
    const state = { upSince: null as number | null };
    for (;;) {
      const process = await find(name);
      if (process === null) return { ok: false, why: "unknown", name };
      const passed = performance.now() - began;
      if (process.state.kind === "ended") {
        const { why, exitCode } = process.state;
        // A command that finished successfully did not fail.
        if (why === "exited" && exitCode === 0) return { ok: true, process };
        return { ok: false, why: "ended", process, lastLines: tail(name) };
      }
      if (process.state.kind === "running") {
        state.upSince ??= performance.now();
        const upFor = performance.now() - state.upSince;
        const { ports, port } = process;
        // Outside of a network of its own a port may have another number.
        const listens =
          port === null || deps.hasOwnNetwork(process.startedBy) ? ports.length > 0 : ports.includes(port);
        if (listens || upFor >= (port === null ? SETTLED_MS : LISTENING_MS)) return { ok: true, process };
      } else if (passed > KEEPER_START_MS) return { ok: true, process };
      await pause(POLL_MS);
    }
  }

  /** The last lines of one that ended; of a keeper that could not even begin, its own. */
  function tail(name: string): string {
    const { text } = readLogTail(folderOf(name), SHOWN_LINES);
    return deps.mask(text === "" ? readLogTail(folderOf(name), SHOWN_LINES, KEEPER_LOG).text : text);
  }

  async function find(name: string): Promise<BackgroundProcess | null> {
    if (!isProcessName(name)) return null;
    const record = readProcessRecord(folderOf(name));
    return record === null ? null : describe(folderOf(name), record);
  }

  async function stop(name: string): Promise<ProcessStopped> {
    const record = isProcessName(name) ? readProcessRecord(folderOf(name)) : null;
    if (record === null) return { status: "unknown", name };
    const process = await describe(folderOf(name), record);
    if (!isUp(process)) return { status: "not-running", process };
    const isOver = await endKeeper(folderOf(name), record);
    const left = readProcessRecord(folderOf(name)) ?? record;
    // A keeper that was still starting, or had to be killed, wrote no end.
    if (isOver && left.end === null) await bury(folderOf(name), left, "stopped");
    const after = (await find(name)) ?? process;
    return { status: isOver && !isUp(after) ? "stopped" : "survived", process: after };
  }

  async function restart(name: string): Promise<ProcessStarted> {
    const process = await find(name);
    if (process === null) return { ok: false, why: "unknown", name };
    const { command, startedBy, port, restartsOnLanding, endsWithProgram, over } = process;
    if (process.state.kind === "starting") return settle(name);
    if (isUp(process)) {
      const record = readProcessRecord(folderOf(name));
      if (record?.keeper && signalKeeper(record.keeper, KEEPER_SIGNALS.restart)) {
        await waitFor(() => (readProcessRecord(folderOf(name))?.runs ?? 0) > record.runs, STOP_MS);
        return settle(name);
      }
    }
    return start({
      command,
      startedBy,
      name,
      restartsOnLanding,
      keeps: !endsWithProgram,
      ...(port !== null && { port }),
      ...(over !== null && { over }),
    });
  }

  return {
    start,
    stop,
    restart,
    async list() {
      const all = await listFolder(folder);
      return all.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
    },
    async log(name, lines): Promise<ProcessLog | null> {
      const process = await find(name);
      if (process === null) return null;
      const { text, cut } = readLogTail(folderOf(name), lines);
      return { process, text: deps.mask(text), cut };
    },
    async forgetEnded() {
      const forgotten = await lock(async () => {
        const ended = (await listFolder(folder)).filter(({ state }) => state.kind === "ended");
        for (const { name } of ended) removeTree(folderOf(name));
        return ended.length;
      });
      return forgotten === "busy" ? 0 : forgotten;
    },
  };
}

/** The processes that ended longest ago, beyond the number of kept records. */
function oldestEnded(processes: readonly BackgroundProcess[]): readonly BackgroundProcess[] {
  const endedAt = ({ state }: BackgroundProcess) => (state.kind === "ended" ? state.at : "");
  const ended = processes.filter(({ state }) => state.kind === "ended");
  return ended.toSorted((a, b) => (endedAt(a) < endedAt(b) ? 1 : -1)).slice(MOST_ENDED);
}

/** `dev`, or `dev-2` where a `dev` runs. */
function freeName(name: string, alive: readonly BackgroundProcess[]): string {
  const isFree = (one: string) => !alive.some((process) => process.name === one);
  for (let count = 1; ; count++) {
    const tried = count === 1 ? name : `${name}-${count}`;
    if (isFree(tried)) return tried;
  }
}

function newId({ now, random }: Pick<BackgroundProcessesDeps, "now" | "random">): string {
  return `proc_${Math.floor(now().getTime() / 1000)}_${Buffer.from(random(4)).toString("hex")}`;
}

/** Those of every workspace of a home. Records of removed workspaces are removed with their last process. */
export async function listAll({ home }: Pick<BackgroundProcessesDeps, "home">): Promise<BackgroundProcess[]> {
  const found: BackgroundProcess[] = [];
  for (const folder of listProcessFolders(processesFolder(home))) {
    const here = await listFolder(folder);
    const isAbandoned = here.every((one) => !isUp(one) && folderIdentity(one.root) === null);
    if (here.length > 0 && isAbandoned) removeTree(folder);
    else found.push(...here);
  }
  return found;
}

async function listFolder(folder: string): Promise<BackgroundProcess[]> {
  const found: BackgroundProcess[] = [];
  const readTable = readTableOnce();
  for (const at of listProcessFolders(folder)) {
    const record = readProcessRecord(at);
    if (record !== null) found.push(await describe(at, record, readTable));
  }
  return found;
}

/** Reads the machine's processes once for a whole list, and not at all if nothing runs. */
function readTableOnce(): typeof readProcessTable {
  const read: { table?: ReturnType<typeof readProcessTable> } = {};
  return () => {
    read.table ??= readProcessTable();
    return read.table;
  };
}

async function describe(
  folder: string,
  record: ProcessRecord,
  readTable = readProcessTable,
): Promise<BackgroundProcess> {
  const life = keeperLife(folder, record);
  const settled = record.end === null && life === "gone" ? await bury(folder, record) : record;
  const state = stateOf(settled, life);
  const {
    name,
    id,
    command,
    startedBy,
    root,
    startedAt,
    port,
    owner,
    restartsOnLanding,
    runs,
    confinement,
    over,
  } = settled;
  return {
    name,
    id,
    command,
    startedBy,
    root,
    startedAt,
    state,
    ports: state.kind === "running" ? await portsOf(settled, readTable) : [],
    port,
    endsWithProgram: owner !== null,
    restartsOnLanding,
    over,
    runs,
    confinement,
    plantedGit: settled.plantedGit ?? [],
    plantedHome: settled.plantedHome ?? [],
    traffic: settled.traffic ?? { reached: [], refused: [] },
  };
}

function stateOf({ end, isUp }: ProcessRecord, life: Life): ProcessState {
  if (end !== null) return { kind: "ended", ...end };
  if (life === "elsewhere") return { kind: "elsewhere" };
  return { kind: isUp ? "running" : "starting" };
}

/** A record that has no keeper yet is being started, unless its starter died. */
function keeperLife(folder: string, record: ProcessRecord): Life {
  const keeper = findKeeper(folder, record);
  if (keeper === null) return Date.now() - Date.parse(record.startedAt) > KEEPER_START_MS ? "gone" : "lives";
  return processLife(keeper.pid, keeper.birth);
}

/** Before the keeper has written itself into the record, its starter knows it. */
function findKeeper(folder: string, { keeper }: ProcessRecord): BornProcess | null {
  if (keeper !== null) return keeper;
  return attemptOr(null, () => JSON.parse(readFileSync(join(folder, KEEPER), "utf8")) as BornProcess);
}

/** The keeper died, and its sandbox with it. What ran without one is known only by the inherited mark: process numbers are reused. */
async function bury(
  folder: string,
  record: ProcessRecord,
  why: ProcessEndReason = "lost",
): Promise<ProcessRecord> {
  await killStrays(join(folder, "run"));
  await killProcesses({ jobMarker: record.id }, 0);
  const again = readProcessRecord(folder) ?? record;
  if (again.end !== null || again.id !== record.id) return again;
  const end = { at: new Date().toISOString(), why, exitCode: null, signal: null };
  const buried: ProcessRecord = { ...again, isUp: false, end };
  writeProcessRecord(folder, buried);
  removeTree(join(folder, "run"));
  return buried;
}

async function portsOf(
  { id, keeper, hasOwnNetwork, confinement, openedPorts }: ProcessRecord,
  readTable: typeof readProcessTable,
): Promise<readonly number[]> {
  // Where namespaces turned out to be refused, the process has the machine's network.
  if (hasOwnNetwork && confinement === "confined") return openedPorts;
  return keeper === null ? [] : findListeningPorts(markedBelow(await readTable(), keeper.pid, id));
}

/** Asks the keeper; one that does not end in time is killed with its process. */
async function endKeeper(folder: string, record: ProcessRecord): Promise<boolean> {
  const keeper = findKeeper(folder, record);
  if (keeper === null) return false;
  signalKeeper(keeper, KEEPER_SIGNALS.stop);
  const isGone = () => keeperLife(folder, record) === "gone";
  if (await waitFor(isGone, STOP_MS)) return true;
  signalKeeper(keeper, "SIGKILL");
  await killStrays(join(folder, "run"));
  const { killed } = await killProcesses({ jobMarker: record.id }, 0);
  return (await waitFor(isGone, STOP_MS)) && !killed.some(({ survived }) => survived);
}

/** Never a process that took over the keeper's number. */
function signalKeeper({ pid, birth }: BornProcess, signal: NodeJS.Signals): boolean {
  if (processLife(pid, birth) !== "lives") return false;
  return attemptOr(false, () => process.kill(pid, signal));
}

/** The keeper is this program in a session of its own, so that neither a terminal nor the end of this one ends it. */
function startKeeper(env: BackgroundProcessesDeps["env"], folder: string): BornProcess {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const { folder: program, runtime, executor } = findInstallation();
  const main = executor.startsWith("dist/") ? "dist/main.js" : "src/main.ts";
  const complaints = openSync(join(folder, KEEPER_LOG), "w", 0o600);
  try {
    const child = spawn(runtime, [...runtimeArguments(program, main), KEEP_COMMAND, folder], {
      cwd: program,
      env: { ...env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
      detached: true,
      stdio: ["ignore", complaints, complaints],
    });
    const pid = child.pid ?? 0;
    const forget = registerOwnChild(pid);
    child.once("exit", forget);
    child.once("error", forget);
    child.unref();
    return { pid, birth: processBirth(pid) };
  } finally {
    closeSync(complaints);
  }
}

/** The entry point of the keeper; not a command for people. */
const KEEP_COMMAND = "--keep-process";

async function waitFor(isTrue: () => boolean, deadlineMs: number): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    if (isTrue()) return true;
    if (performance.now() > end) return false;
    await pause(POLL_MS);
  }
}
