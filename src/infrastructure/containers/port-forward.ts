import { connect, type Socket } from "node:net";
import type { Forward, SandboxFailure } from "../../application/ports/containers.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/forward.pl" with { type: "text" };
import { openInsideProgram } from "./inside-program.ts";

const LONGEST_FRAME = 65_536;
const MOST_CONNECTIONS = 128;

export interface PortForwardDeps {
  readonly engine: Engine;
  readonly container: string;
  /** A Unix socket of this machine. */
  readonly socket: string;
  readonly signal: AbortSignal;
}

const NOTHING = new Uint8Array();

/** A small program listens inside; its streams carry every connection. */
export async function openPortForward(deps: PortForwardDeps): Promise<Forward | SandboxFailure> {
  const { engine, container, socket, signal } = deps;
  const sockets = new Map<number, Socket>();
  const tell: { send?: (type: "d" | "c", id: number, bytes: Uint8Array) => void } = {};

  function connectTo(id: number): void {
    if (sockets.has(id) || sockets.size >= MOST_CONNECTIONS) throw new RangeError("no such connection");
    const one = connect({ path: socket, allowHalfOpen: true });
    sockets.set(id, one);
    one.on("data", (bytes) => tell.send?.("d", id, Buffer.from(bytes)));
    one.on("error", () => one.destroy());
    one.on("close", () => {
      sockets.delete(id);
      tell.send?.("c", id, NOTHING);
    });
    one.on("end", () => one.destroy());
  }

  const opened = await openInsideProgram({
    engine,
    container,
    program,
    longestFrame: LONGEST_FRAME,
    onFrame({ type, id, payload }) {
      switch (type) {
        case "o":
          return connectTo(id);
        case "d":
          return void sockets.get(id)?.write(Buffer.from(payload));
        case "c":
          return void sockets.get(id)?.end();
        default:
          throw new RangeError(`no such frame: ${type}`);
      }
    },
    onEnd() {
      for (const each of sockets.values()) each.destroy();
      sockets.clear();
    },
    signal,
  });
  if ("ok" in opened) return opened;
  tell.send = opened.send;
  const port = Number(opened.hello.toString());
  if (port > 0) return { ok: true, port, close: opened.close };
  opened.close();
  return sandboxFailure("disconnected", "the forwarder has no port");
}
