import type { SandboxFailure } from "../../application/ports/containers.ts";
import {
  type Entry,
  toViewFault,
  type View,
  ViewFault,
  type WorkspaceFiles,
} from "../../application/ports/platform-view.ts";
import { findInstallation, threadEntry } from "../platform/installation.ts";
import { decodeList, encodeList } from "./container-frames.ts";
import { type EngineDeps, sandboxFailure } from "./docker-engine.ts";
import { EMPTY, type FileThreadEvent, type FileThreadRequest, LOST, WORD, WORDS } from "./file-thread.ts";

export type FileChannel = ReturnType<typeof channelOver>;

class ChannelFault extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Without a single byte for so long, a container hangs; the program does nothing else meanwhile. */
const PATIENCE_MS = 10_000;
/** A question takes its time on a slow way, too: a millisecond for so many bytes. */
const SLOWEST_BYTES = 512;
const ROOM_BYTES = 1024 ** 2;

/** The files of an engine's containers, for callers that cannot wait by a promise. */
export type ContainerFileThread = ReturnType<typeof createFileThread>;

interface RunningThread {
  readonly worker: Worker;
  readonly words: Int32Array;
  readonly room: Uint8Array;
  readonly opening: Map<number, (failure: SandboxFailure | null) => void>;
  readonly channels: Map<number, { broken: boolean }>;
}

/** A thread owns the connections and our file server in each container while a channel is open; the caller waits for a shared word. */
export function createFileThread(engine: EngineDeps) {
  const { address, host, timeoutMs } = engine;
  let running: RunningThread | null = null;
  let next = 1;

  function start(): RunningThread {
    const worker = new Worker(threadEntry(findInstallation(), "container-files"), { smol: true });
    const words = new Int32Array(new SharedArrayBuffer(4 * WORDS));
    const room = new Uint8Array(new SharedArrayBuffer(ROOM_BYTES));
    const thread: RunningThread = { worker, words, room, opening: new Map(), channels: new Map() };
    worker.onmessage = ({ data }: { readonly data: FileThreadEvent }) => {
      if (data.kind === "lost") return drop(thread, data.channel);
      thread.opening.get(data.channel)?.(data.failure);
    };
    // The message of an error quotes the program's code.
    for (const event of ["error", "close"])
      worker.addEventListener(event, () => stop(thread, "its thread ended"));
    post(thread, { kind: "share", words: words.buffer, room: room.buffer });
    return thread;
  }

  /** All of its channels are broken then: later data could be the answer to a question that was given up. */
  function stop(thread: RunningThread, why: string): void {
    if (running === thread) running = null;
    for (const channel of thread.channels.values()) channel.broken = true;
    thread.channels.clear();
    for (const settle of thread.opening.values()) settle(sandboxFailure("disconnected", why));
    thread.worker.terminate();
  }

  function drop(thread: RunningThread, number: number): void {
    const channel = thread.channels.get(number);
    if (channel !== undefined) channel.broken = true;
    thread.channels.delete(number);
    if (thread.channels.size === 0 && thread.opening.size === 0) stop(thread, "closed");
  }

  return {
    async open(container: string, root: string): Promise<FileChannel | SandboxFailure> {
      running ??= start();
      const thread = running;
      const channel = next++;
      const { promise, resolve } = Promise.withResolvers<SandboxFailure | null>();
      thread.opening.set(channel, resolve);
      thread.worker.ref();
      post(thread, { kind: "open", channel, engine: { address, host, timeoutMs }, container, root });
      const failure = await promise;
      thread.opening.delete(channel);
      // One that is only kept for later does not hold the process.
      if (thread.opening.size === 0) thread.worker.unref();
      if (failure === null) {
        const state = { broken: false };
        thread.channels.set(channel, state);
        return channelOver(thread, channel, state, {
          drop: () => drop(thread, channel),
          stop: (why) => stop(thread, why),
        });
      }
      drop(thread, channel);
      return failure;
    },
    close(): void {
      if (running !== null) stop(running, "closed");
    },
  };
}

function post({ worker }: Pick<RunningThread, "worker">, request: FileThreadRequest): void {
  worker.postMessage(request);
}

function channelOver(
  thread: RunningThread,
  channel: number,
  state: { broken: boolean },
  { drop, stop }: { readonly drop: () => void; readonly stop: (why: string) => void },
) {
  const { words, room } = thread;
  let questions = 0;

  /** Waits for the next part of the answer, as long as anything is heard; says whether it was the last. */
  function takePart(parts: Uint8Array[], patienceMs: number): boolean {
    for (let heard = Atomics.load(words, WORD.heard); ; heard = Atomics.load(words, WORD.heard)) {
      if (Atomics.wait(words, WORD.state, EMPTY, patienceMs) !== "timed-out") break;
      if (Atomics.load(words, WORD.heard) !== heard) continue;
      const why = `nothing was heard for ${Math.round(patienceMs / 1000)} s`;
      stop(why);
      throw new Error(why);
    }
    parts.push(room.slice(0, Atomics.load(words, WORD.size)));
    if (Atomics.load(words, WORD.left) === 0) return true;
    Atomics.store(words, WORD.state, EMPTY);
    Atomics.notify(words, WORD.state);
    return false;
  }

  const close = () => {
    if (state.broken) return;
    state.broken = true;
    post(thread, { kind: "close", channel });
  };

  /** A question with its fields, answered before it returns. Throws a `ChannelFault` for what the other side refused. */
  function ask(what: string, ...fields: readonly (string | Uint8Array)[]): readonly Buffer[] {
    if (state.broken) throw new Error("the connection is closed");
    Atomics.store(words, WORD.state, EMPTY);
    const parts: Uint8Array[] = [];
    const payload = encodeList([what, ...fields]);
    post(thread, { kind: "ask", channel, id: ++questions, payload });
    while (!takePart(parts, PATIENCE_MS + payload.length / SLOWEST_BYTES));
    const bytes = Buffer.concat(parts);
    const type = Atomics.load(words, WORD.type);
    if (type === LOST) {
      drop();
      throw new Error(bytes.toString());
    }
    const list = readList(bytes);
    if (String.fromCharCode(type) === "a") return list;
    throw new ChannelFault(list[0]?.toString() ?? "EIO", list[1]?.toString() ?? "");
  }

  function readList(bytes: Buffer): readonly Buffer[] {
    try {
      return decodeList(bytes);
    } catch (error) {
      close();
      throw error;
    }
  }

  /** `isBroken`: the connection failed or was closed; it will not work again. */
  return { ask, isBroken: () => state.broken, close };
}

/** The files of a container as any view has them. `onChange` gets each path before it changes. */
export function createContainerView(
  channel: FileChannel,
  onChange: (path: string) => void = () => {},
): View & Pick<WorkspaceFiles, "readPart"> {
  const ask = (
    path: string,
    what: string,
    ...fields: readonly (string | Uint8Array)[]
  ): readonly Buffer[] => {
    try {
      return channel.ask(what, path, ...fields);
    } catch (error) {
      throw channelViewFault(error, path);
    }
  };
  const change = (path: string, what: string, ...fields: readonly (string | Uint8Array)[]): void => {
    onChange(path);
    ask(path, what, ...fields);
  };
  return {
    look: (path) => toViewEntry(ask(path, "look")),
    read: (path) => ask(path, "read", "0", "-1")[0] ?? new Uint8Array(),
    readPart: (path, offset, length) =>
      ask(path, "read", String(offset), String(length))[0] ?? new Uint8Array(),
    write: (path, bytes, mode) => change(path, "write", mode === undefined ? "" : String(mode), bytes),
    makeSymlink: (path, target) => change(path, "link", target),
    makeDirectory: (path) => change(path, "folder"),
    remove: (path) => change(path, "remove"),
    rename(from, to) {
      onChange(to);
      change(from, "rename", to);
    },
    copy(from, to) {
      onChange(to);
      ask(from, "copy", to);
    },
    list: (path) => ask(path, "list").map((name) => name.toString()),
  };
}

function toViewEntry([kind, first, second]: readonly Buffer[]): Entry {
  switch (kind?.toString()) {
    case "file":
      return { kind: "file", mode: Number(first), size: Number(second) };
    case "directory":
      return { kind: "directory", mode: Number(first) };
    case "symlink":
      return { kind: "symlink", target: first?.toString() ?? "" };
    case "missing":
      return { kind: "missing" };
    default:
      return { kind: "other" };
  }
}

function channelViewFault(error: unknown, path: string): ViewFault {
  if (error instanceof ChannelFault) {
    if (error.code === "ENOTFILE") return new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    return toViewFault(Object.assign(new Error(error.message), { code: error.code }), path);
  }
  // A connection that timed out or broke has lost its place in the conversation.
  return new ViewFault("io", path, `the environment's files cannot be reached: ${(error as Error).message}`, {
    cause: error,
  });
}
