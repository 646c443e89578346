import { connect, type Socket } from "node:net";
import type { Forward, SandboxFailure } from "../../application/ports/containers.ts";
import { createFrameReader, createStreamReader } from "./container-frames.ts";
import { createExec } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/forward.pl" with { type: "text" };

/** Type, number, length. */
const HEAD = 9;
/** More than one frame of the program inside ever holds. */
const LONGEST = 65_536;
const MOST_CONNECTIONS = 128;

export interface PortForwardDeps {
  readonly engine: Engine;
  readonly container: string;
  /** A Unix socket of this machine. */
  readonly socket: string;
  readonly signal: AbortSignal;
}

/** One exec of a small program that listens inside; its streams carry every connection. */
export async function openPortForward(parts: PortForwardDeps): Promise<Forward | SandboxFailure> {
  const { engine, container, socket, signal } = parts;
  const created = await createExec(engine, container, { argv: ["perl", "-e", program], stdin: true, signal });
  if (!created.ok) return created;
  const sockets = new Map<number, Socket>();
  const port = Promise.withResolvers<number | SandboxFailure>();
  let noise = "";
  const end = (why: string) => {
    port.resolve(sandboxFailure("disconnected", why));
    for (const each of sockets.values()) each.destroy();
    sockets.clear();
  };
  const send: { write?: (bytes: Uint8Array) => void; close?: () => void } = {};
  const tell = (type: "d" | "c", id: number, bytes: Uint8Array) => send.write?.(frameOf(type, id, bytes));
  // Data from inside must have the expected form, regardless of its author.
  const breakOff = () => {
    send.close?.();
    end("what came from the container is not the forwarder's");
  };

  function onOpen(id: number): void {
    if (sockets.has(id) || sockets.size >= MOST_CONNECTIONS) {
      breakOff();
      return;
    }
    const one = connect({ path: socket, allowHalfOpen: true });
    sockets.set(id, one);
    one.on("data", (bytes) => tell("d", id, Buffer.from(bytes)));
    one.on("error", () => one.destroy());
    one.on("close", () => {
      sockets.delete(id);
      tell("c", id, NOTHING);
    });
    one.on("end", () => one.destroy());
  }

  const readFrames = createFrameReader(
    { headBytes: HEAD, limitBytes: LONGEST, lengthOf: (head) => head.readUInt32BE(5) },
    (head, payload) => {
      const id = head.readUInt32BE(1);
      switch (String.fromCharCode(head[0] ?? 0)) {
        case "p":
          return port.resolve(Number(payload.toString()));
        case "o":
          return onOpen(id);
        case "d":
          return void sockets.get(id)?.write(Buffer.from(payload));
        case "c":
          return void sockets.get(id)?.end();
        default:
          return breakOff();
      }
    },
    breakOff,
  );
  const connection = await engine.attach(
    created.value.Id,
    {
      onBytes: createStreamReader((stream, bytes) => {
        if (stream === "stdout") readFrames(bytes);
        else noise = (noise + bytes.toString()).slice(-500);
      }),
      onClose: () => end(noise.trim() || "the forwarder ended"),
    },
    signal,
  );
  if ("ok" in connection) return connection;
  send.write = (bytes) => connection.write(bytes);
  send.close = () => connection.close();
  const onAbort = () => end("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const found = await port.promise;
  signal.removeEventListener("abort", onAbort);
  const close = () => {
    connection.close();
    end("closed");
  };
  if (typeof found === "number" && found > 0) return { ok: true, port: found, close };
  close();
  return typeof found === "number" ? sandboxFailure("disconnected", "the forwarder has no port") : found;
}

const NOTHING = new Uint8Array();

function frameOf(type: string, id: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.alloc(HEAD + bytes.length);
  frame.write(type, 0, "latin1");
  frame.writeUInt32BE(id, 1);
  frame.writeUInt32BE(bytes.length, 5);
  frame.set(bytes, HEAD);
  return frame;
}
