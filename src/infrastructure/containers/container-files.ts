import type { SandboxFailure } from "../../application/ports/containers.ts";
import { type Entry, toViewFault, type View, ViewFault } from "../../application/ports/jobs-transaction.ts";
import { type BlockingSocket, type EngineAddress, openBlockingSocket } from "../platform/connections.ts";
import { createExec } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/files.pl" with { type: "text" };

/** A question with its fields, answered before it returns. Throws a `ChannelFault` for what the other side refused. */
export interface FileChannel {
  ask(what: string, ...fields: readonly (string | Uint8Array)[]): readonly Buffer[];
  /** The connection failed or was closed; it will not work again. */
  isBroken(): boolean;
  close(): void;
}

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
const STDOUT = 1;
const READ_BYTES = 256 * 1024;
/** The answering server is not trusted: a task can meddle with it, since it runs as the user of the task. */
const LARGEST_ANSWER = 80 * 1024 ** 2;

/**
 * Files of a container, for callers that cannot wait by a promise: one long exec of our file server, on a connection
 * that waits. An answer takes about as long as the engine needs to pass two small messages on.
 */
export async function openFileChannel(
  engine: Engine,
  address: EngineAddress,
  container: string,
  root: string,
): Promise<FileChannel | SandboxFailure> {
  if (address.kind === "tcp" && address.tls !== undefined)
    return sandboxFailure("bad-host", "files in an environment cannot be reached over an engine with TLS");
  const created = await createExec(engine, container, { argv: ["perl", "-e", program, root], stdin: true });
  if (!created.ok) return created;
  let socket: BlockingSocket;
  try {
    socket = openBlockingSocket(address, PATIENCE_MS);
  } catch (error) {
    return sandboxFailure("engine-unreachable", (error as Error).message, error);
  }
  try {
    const reader = createReader(socket, startFileProgram(socket, created.value.Id));
    const [, ready] = reader();
    if (ready?.toString() !== "ready") throw new Error("the file server did not answer");
    return channelOver(socket, reader);
  } catch (error) {
    socket.close();
    return sandboxFailure("disconnected", `${container}: ${(error as Error).message}`, error);
  }
}

function channelOver(socket: BlockingSocket, reader: () => Buffer[]): FileChannel {
  const state = { broken: false };
  const exchange = (fields: readonly (string | Uint8Array)[]): Buffer[] => {
    if (state.broken) throw new Error("the connection is closed");
    try {
      socket.write(encodeChannelFrame(fields));
      return reader();
    } catch (error) {
      // Any later data could be the answer to this question.
      state.broken = true;
      socket.close();
      throw error;
    }
  };
  return {
    ask(what, ...fields) {
      const [status, ...answer] = exchange([what, ...fields]);
      if (status?.toString() === "ok") return answer;
      throw new ChannelFault(answer[0]?.toString() ?? "EIO", answer[1]?.toString() ?? "");
    },
    isBroken: () => state.broken,
    close() {
      state.broken = true;
      socket.close();
    },
  };
}

function encodeChannelFrame(fields: readonly (string | Uint8Array)[]): Uint8Array {
  const parts = fields.map((field) => (typeof field === "string" ? Buffer.from(field) : field));
  const size = parts.reduce((sum, part) => sum + 4 + part.length, 0);
  const out = Buffer.allocUnsafe(4 + size);
  out.writeUInt32BE(size, 0);
  let at = 4;
  for (const part of parts) {
    out.writeUInt32BE(part.length, at);
    out.set(part, at + 4);
    at += 4 + part.length;
  }
  return out;
}

/** Asks for the exec's streams; returns what came after the engine's head. */
function startFileProgram(socket: BlockingSocket, exec: string): Buffer {
  const body = JSON.stringify({ Detach: false, Tty: false });
  socket.write(
    Buffer.from(
      `POST /exec/${exec}/start HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  );
  let head = Buffer.alloc(0);
  for (;;) {
    head = Buffer.concat([head, socket.read(READ_BYTES)]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!/^HTTP\/1\.1 (101|200)/.test(head.toString("latin1", 0, 12)))
      throw new Error(head.toString("utf8", end + 4).trim() || "the engine refused");
    return head.subarray(end + 4);
  }
}

/**
 * Splits the engine's frames and assembles PicoClaw's. Any output of the server on its standard error ends
 * it.
 */
function createReader(socket: BlockingSocket, first: Buffer): () => Buffer[] {
  let raw = first;
  const held: Buffer[] = [];
  let size = 0;
  const fill = () => {
    const need = () => (raw.length < 8 ? 8 : 8 + raw.readUInt32BE(4));
    while (raw.length < need()) raw = Buffer.concat([raw, socket.read(READ_BYTES)]);
    const end = need();
    const payload = raw.subarray(8, end);
    const stream = raw[0];
    raw = raw.subarray(end);
    if (stream !== STDOUT) throw new Error(payload.toString().trim());
    held.push(payload);
    size += payload.length;
  };
  const take = (length: number): Buffer => {
    while (size < length) fill();
    const all = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
    held.length = 0;
    held.push(all.subarray(length));
    size -= length;
    return all.subarray(0, length);
  };
  return () => {
    const size = take(4).readUInt32BE(0);
    if (size > LARGEST_ANSWER) throw new Error(`an answer of ${size} bytes is too large`);
    const body = take(size);
    const fields: Buffer[] = [];
    for (let at = 0; at < body.length; ) {
      if (at + 4 > body.length) throw new Error("a broken answer");
      const length = body.readUInt32BE(at);
      if (at + 4 + length > body.length) throw new Error("a broken answer");
      fields.push(body.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    return fields;
  };
}

export interface ContainerFiles extends View {
  /** Up to `length` bytes from `offset` on; fewer only at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array;
}

/** The files of a container as any view has them. `onChange` gets each path before it changes. */
export function createContainerView(
  channel: FileChannel,
  onChange: (path: string) => void = () => {},
): ContainerFiles {
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
