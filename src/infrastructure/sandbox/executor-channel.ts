import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  readSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type {
  KilledProcess,
  OutputStream,
  ProcessInput,
  ProcessRequest,
  ProcessResult,
  ProcessRunner,
  RunningProcess,
} from "../../application/ports/platform-processes.ts";
import {
  type Entry,
  type TakenEdit,
  takeInEdits,
  type View,
  ViewFault,
  type ViewFaultCode,
} from "../../application/ports/platform-view.ts";
import { ChannelClosed, type LayeredPath } from "../../application/ports/sandbox.ts";
import { toFaultText } from "../../domain/platform/error-text.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { identify, ifThere } from "../platform/entry-identity.ts";
import { createHeadReader } from "../platform/frames.ts";
import { inParent } from "../platform/open-folder.ts";
import { waitUntilReady } from "../platform/process-calls.ts";
import { readNoFollow } from "../platform/read-file.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { makeParents } from "../platform/walk-folder.ts";

/** A message between the program and the executor: a JSON head and raw bytes, each with its length. */
export interface Frame {
  readonly head: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

/** One request, one answer, in order; the caller waits. */
export type Call = (head: Readonly<Record<string, unknown>>, body?: Uint8Array) => Frame;

const PREFIX_BYTES = 8;
const EMPTY = new Uint8Array();

export function encodeFrame(head: Readonly<Record<string, unknown>>, body: Uint8Array = EMPTY): Uint8Array {
  const text = Buffer.from(JSON.stringify(head), "utf8");
  const out = Buffer.allocUnsafe(PREFIX_BYTES + text.length + body.length);
  out.writeUInt32LE(text.length, 0);
  out.writeUInt32LE(body.length, 4);
  out.set(text, PREFIX_BYTES);
  out.set(body, PREFIX_BYTES + text.length);
  return out;
}

export function createFrameReader(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  const shape = {
    headBytes: PREFIX_BYTES,
    limitBytes: Number.POSITIVE_INFINITY,
    lengthOf: (prefix: Buffer) => prefix.readUInt32LE(0) + prefix.readUInt32LE(4),
  };
  return createHeadReader(shape, (prefix, payload) => {
    const length = prefix.readUInt32LE(0);
    const head = JSON.parse(payload.toString("utf8", 0, length)) as Frame["head"];
    onFrame({ head, body: new Uint8Array(payload.subarray(length)) });
  });
}

/** An executor that is silent for this long, after the time of its command, counts as ended. Copying a large folder takes less. */
const LONGEST_SILENCE_MS = 300_000;

export function writeFrame(descriptor: number, frame: Uint8Array, silenceMs = LONGEST_SILENCE_MS): void {
  for (let at = 0; at < frame.length; )
    try {
      at += writeSync(descriptor, frame, at);
    } catch (error) {
      const { code } = error as { code?: string };
      const isFull = code === "EAGAIN";
      if (code === "EPIPE" || (isFull && !waitUntilReady(descriptor, "writing", silenceMs)))
        throw new ChannelClosed();
      if (!isFull) throw error;
    }
}

function readExactly(descriptor: number, length: number, silenceMs: number): Uint8Array {
  const out = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const isReady = waitUntilReady(descriptor, "reading", silenceMs);
    const got = isReady ? readSync(descriptor, out, at, length - at, null) : 0;
    if (got === 0) throw new ChannelClosed();
    at += got;
  }
  return out;
}

/** Makes the executor restore a path to the current entry in the real workspace. */
export function restoreThrough(send: Call, absolute: string): void {
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  const parents = stats === undefined ? [] : parentModes(absolute);
  const call = (head: Readonly<Record<string, unknown>>, body?: Uint8Array) =>
    send({ ...head, parents }, body);
  if (stats?.isFile()) {
    const { mode, atimeMs, mtimeMs } = stats;
    call(
      { op: "restore", path: absolute, kind: "file", mode: mode & 0o7777, atimeMs, mtimeMs },
      readNoFollow(absolute),
    );
  } else if (stats?.isSymbolicLink())
    call({ op: "restore", path: absolute, kind: "symlink", target: readlinkSync(absolute) });
  else if (stats?.isDirectory())
    call({ op: "restore", path: absolute, kind: "directory", mode: stats.mode & 0o7777 });
  else call({ op: "restore", path: absolute, kind: "missing" });
}

/** Makes the executor replace the bytes of a file of the view, if it is still a file. */
export function rewriteThrough(
  send: Call,
  absolute: string,
  bytes: Uint8Array,
  place: LayeredPath | null,
): void {
  const now = place === null ? null : identify(place.root, place.below);
  if (now?.kind !== "file") return;
  const mtimeMs = Number(BigInt(now.mtime) / 1_000_000n);
  const head = { kind: "file", mode: now.mode, atimeMs: mtimeMs, mtimeMs, parents: [] };
  send({ op: "restore", path: absolute, ...head }, bytes);
}

/** The modes of the parents of an existing path, outermost first. */
function parentModes(absolute: string): number[] {
  const modes: number[] = [];
  for (let at = dirname(absolute); at !== "/"; at = dirname(at)) modes.unshift(lstatSync(at).mode & 0o7777);
  return modes;
}

/** The executor's side. Parents that were removed or replaced are created again; no symlink is followed. */
function restoreHere(head: Readonly<Record<string, unknown>>, body: Uint8Array): void {
  const path = String(head.path).slice(1);
  if (head.kind === "missing") {
    // If a parent is not a folder of the view, there is nothing to remove.
    ifThere(undefined, () => inParent("/", path, (folder, name) => removeTree(`${folder}/${name}`)));
    return;
  }
  const modes = head.parents as readonly (number | undefined)[];
  makeParents("/", path, (parent) => modes[parent.split("/").length - 1]);
  inParent("/", path, (folder, name) => {
    const at = `${folder}/${name}`;
    if (head.kind === "directory") {
      if (!lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) {
        removeTree(at);
        mkdirSync(at);
      }
      chmodSync(at, Number(head.mode));
      return;
    }
    removeTree(at);
    if (head.kind === "symlink") symlinkSync(String(head.target), at);
    if (head.kind !== "file") return;
    writeFileSync(at, body, { flag: "wx", mode: Number(head.mode) });
    chmodSync(at, Number(head.mode));
    utimesSync(at, Number(head.atimeMs) / 1000, Number(head.mtimeMs) / 1000);
  });
}

export function createCall(requests: number, answers: number, silenceMs = LONGEST_SILENCE_MS): Call {
  const read = (length: number) => readExactly(answers, length, silenceMs);
  return (...request) => {
    writeFrame(requests, encodeFrame(...request), silenceMs);
    const prefix = Buffer.from(read(PREFIX_BYTES));
    const head = JSON.parse(Buffer.from(read(prefix.readUInt32LE(0))).toString("utf8")) as Frame["head"];
    const body = read(prefix.readUInt32LE(4));
    const fault = head.fault as { code: ViewFaultCode; path: string; message: string } | undefined;
    if (fault !== undefined) throw new ViewFault(fault.code, fault.path, fault.message);
    if (typeof head.bug === "string") throw Object.assign(new Error(head.bug), { stack: String(head.stack) });
    return { head, body };
  };
}

/** The files of a view that only the executor inside it can see. */
export function createRemoteView(call: Call): View {
  return {
    look: (path) => call({ op: "look", path }).head.entry as Entry,
    read: (path) => call({ op: "read", path }).body,
    write: (path, bytes, mode) =>
      void call({ op: "write", path, ...(mode !== undefined && { mode }) }, bytes),
    makeSymlink: (path, target) => void call({ op: "makeSymlink", path, target }),
    makeDirectory: (path) => void call({ op: "makeDirectory", path }),
    remove: (path) => void call({ op: "remove", path }),
    rename: (from, to) => void call({ op: "rename", path: from, to }),
    copy: (from, to) => void call({ op: "copy", path: from, to }),
    list: (path) => call({ op: "list", path }).head.names as string[],
    takeIn(edits) {
      const sent = edits.map(({ path, entry, bytes }) => ({ path, entry, length: bytes?.length ?? null }));
      call({ op: "takeIn", edits: sent }, Buffer.concat(edits.flatMap(({ bytes }) => bytes ?? [])));
    },
  };
}

/** The edits of a `takeIn` call, whose bytes follow one another in the body. */
function readSentEdits({ head, body }: Frame): TakenEdit[] {
  let at = 0;
  return (head.edits as readonly (TakenEdit & { readonly length: number | null })[]).map(
    ({ path, entry, length }) => {
      const from = at;
      at += length ?? 0;
      return { path, entry, bytes: length === null ? null : body.subarray(from, at) };
    },
  );
}

/** The executor's side of `createRemoteView`, by the names of its calls: answers, or nothing for an empty one. */
const VIEW_CALLS: Readonly<Record<string, (view: View, frame: Frame) => unknown>> = {
  look: (view, { head }) => encodeFrame({ entry: view.look(String(head.path)) }),
  read: (view, { head }) => encodeFrame({}, view.read(String(head.path))),
  list: (view, { head }) => encodeFrame({ names: view.list(String(head.path)) }),
  write: (view, { head, body }) => view.write(String(head.path), body, head.mode as number | undefined),
  makeSymlink: (view, { head }) => view.makeSymlink(String(head.path), String(head.target)),
  makeDirectory: (view, { head }) => view.makeDirectory(String(head.path)),
  remove: (view, { head }) => view.remove(String(head.path)),
  rename: (view, { head }) => view.rename(String(head.path), String(head.to)),
  copy: (view, { head }) => view.copy(String(head.path), String(head.to)),
  restore: (_, { head, body }) => restoreHere(head, body),
  takeIn: (view, frame) => takeInEdits(view, readSentEdits(frame)),
};

export function answerViewCall(view: View, frame: Frame): Uint8Array {
  const op = String(frame.head.op);
  try {
    const call = ownMember(VIEW_CALLS, op);
    if (call === undefined) return encodeFrame({ bug: `unknown call: ${op}` });
    const answer = call(view, frame);
    return answer instanceof Uint8Array ? answer : encodeFrame({});
  } catch (error) {
    if (error instanceof ViewFault)
      return encodeFrame({ fault: { code: error.code, path: error.path, message: error.message } });
    return encodeFrame({ bug: toFaultText(error), stack: (error as Error).stack ?? "" });
  }
}

type Send = (head: Frame["head"]) => void;

/** Receives the events of a request before its answer. */
interface Waiting {
  readonly onOutput?: ProcessRequest["onOutput"];
  /** The executor has forwarded the last piece. */
  readonly onTaken?: () => void;
}

/** Runs processes inside the view, through its executor. A dead one ends every run as "signaled"; `end` ends a silent one. */
export function createRemoteProcesses(send: Send, end = () => {}) {
  const waiting = new Map<number, Waiting & { readonly settle: (answer: Frame["head"] | null) => void }>();
  let next = 1;
  let ended = false;

  function ask(head: Frame["head"], events: Waiting = {}, ownMs = 0) {
    const id = next++;
    const { promise: answer, resolve: settle } = Promise.withResolvers<Frame["head"] | null>();
    const timer = setTimeout(end, Math.min(ownMs + LONGEST_SILENCE_MS, 2 ** 31 - 1));
    if (ended) settle(null);
    else {
      waiting.set(id, { ...events, settle });
      send({ ...head, id });
    }
    return { id, answer: answer.finally(() => clearTimeout(timer)) };
  }

  const runner: ProcessRunner = {
    async runProcess(request) {
      const { signal, onOutput, stdin, cutNote: _, ...plain } = request;
      const started = performance.now();
      const input = createInputQueue((piece) => send({ op: "input", id, ...piece }));
      const timeoutMs = clampTimeout(plain.timeoutMs);
      const { id, answer } = ask(
        { op: "run", request: { ...plain, timeoutMs }, reads: stdin !== undefined },
        { onOutput, onTaken: input.onTaken },
        timeoutMs,
      );
      stdin?.(input.input);
      const abort = () => send({ op: "abort", id });
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        const got = await answer;
        return got === null ? executorDied(performance.now() - started) : (got.result as ProcessResult);
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
    listJobProcesses: async (jobMarker) =>
      ((await ask({ op: "list", jobMarker }).answer)?.processes ?? []) as RunningProcess[],
    killJobProcesses: async (jobMarker) =>
      ((await ask({ op: "kill", jobMarker }).answer)?.processes ?? []) as KilledProcess[],
  };

  return {
    runner,
    onFrame({ head, body }: Frame): void {
      const entry = waiting.get(Number(head.id));
      if (entry === undefined) return;
      if (head.taken === true) {
        entry.onTaken?.();
        return;
      }
      if (head.output !== undefined) {
        entry.onOutput?.(head.output as OutputStream, Buffer.from(body).toString("utf8"));
        return;
      }
      waiting.delete(Number(head.id));
      entry.settle(head);
    },
    onEnd(): void {
      ended = true;
      for (const { settle } of waiting.values()) settle(null);
      waiting.clear();
    },
  };
}

interface InputPiece {
  readonly text: string;
  readonly end: boolean;
}

/** Characters that are sent to the executor at once. */
const INPUT_PIECE = 8_192;

/** Standard input of a process in the view, one piece at a time: a full channel would block the program while the executor waits for it. */
function createInputQueue(send: (piece: InputPiece) => void) {
  const pieces: InputPiece[] = [];
  let isOnItsWay = false;
  let isOver = false;
  const next = () => {
    const piece = pieces.shift();
    isOnItsWay = piece !== undefined;
    if (piece !== undefined) send(piece);
  };
  const add = (piece: InputPiece) => {
    if (isOver) return;
    isOver = piece.end;
    pieces.push(piece);
    if (!isOnItsWay) next();
  };
  return {
    input: {
      write(text: string) {
        for (let at = 0; at < text.length; ) {
          // A character of two halves stays whole.
          const half = /[\ud800-\udbff]/.test(text[at + INPUT_PIECE - 1] ?? "") ? 1 : 0;
          add({ text: text.slice(at, at + INPUT_PIECE - half), end: false });
          at += INPUT_PIECE - half;
        }
      },
      end: () => add({ text: "", end: true }),
    },
    onTaken: next,
  };
}

/** JSON has no infinity; a time that no timer can hold means no limit. */
function clampTimeout(timeoutMs: number): number {
  return Math.min(timeoutMs, Number.MAX_SAFE_INTEGER);
}

function executorDied(durationMs: number): ProcessResult {
  const output = "the executor of this job was ended";
  return {
    outcome: "signaled",
    exitCode: null,
    signal: "SIGKILL",
    output,
    stdout: "",
    stderr: output,
    truncatedBytes: 0,
    durationMs,
  };
}

/** The executor's side: carries out process requests and streams what they print. */
export function createProcessServer(
  runner: ProcessRunner,
  write: (frame: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  const running = new Map<number, AbortController>();
  const inputs = new Map<number, ProcessInput>();
  return createFrameReader(({ head }) => void handle(head));

  async function handle(head: Readonly<Record<string, unknown>>): Promise<void> {
    const id = Number(head.id);
    switch (head.op) {
      case "run": {
        const abort = new AbortController();
        running.set(id, abort);
        const onOutput = (output: OutputStream, text: string) =>
          write(encodeFrame({ id, output }, Buffer.from(text, "utf8")));
        const result = await runner.runProcess({
          ...(head.request as ProcessRequest),
          signal: abort.signal,
          onOutput,
          ...(head.reads === true && { stdin: (input: ProcessInput) => inputs.set(id, input) }),
        });
        running.delete(id);
        inputs.delete(id);
        const { error, ...plain } = result;
        const said = error !== undefined && { error: { ...error, cause: String(error.cause) } };
        write(encodeFrame({ id, result: { ...plain, ...said } }));
        return;
      }
      case "input": {
        const input = inputs.get(id);
        if (head.end === true) input?.end();
        else input?.write(String(head.text));
        write(encodeFrame({ id, taken: true }));
        return;
      }
      case "abort":
        running.get(id)?.abort();
        return;
      case "list":
        write(encodeFrame({ id, processes: await runner.listJobProcesses(String(head.jobMarker)) }));
        return;
      case "kill":
        write(encodeFrame({ id, processes: await runner.killJobProcesses(String(head.jobMarker)) }));
    }
  }
}
