import type { SandboxFailure } from "../../application/ports/containers.ts";
import type { RawConnection } from "../platform/connections.ts";
import { createFrameReader, createStreamReader, encodeFrame, type Frame } from "./container-frames.ts";
import { createExec } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import frames from "./inside/frames.pl" with { type: "text" };

/** A program of ours that runs in a container, over one connection of the engine. */
export interface InsideProgram {
  /** The payload of its first frame. */
  readonly hello: Buffer;
  send(type: string, id: number, payload: Uint8Array): void;
  /** Hangs up; the program ends with its connection. */
  close(): void;
}

export interface InsideProgramRequest {
  readonly engine: Engine;
  readonly container: string;
  /** In Perl; `inside/frames.pl` is put before it. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Longer than any frame that the program sends. */
  readonly longestFrame: number;
  readonly onBytes?: () => void;
  /** A `RangeError` says that the frame is not one of the program's. The payload is valid only during the call. */
  readonly onFrame: (frame: Frame) => void;
  /** Called once, after the hello and as the last call. */
  readonly onEnd: (failure: SandboxFailure) => void;
  readonly signal: AbortSignal;
}

const KEPT_NOISE = 2000;
/** How the runtime ends where the container has no process left for the program, which was then not started. */
const NO_ROOM = /^OCI runtime exec failed: .*(?:read init-p: connection reset|temporarily unavailable)/;

export async function openInsideProgram(
  request: InsideProgramRequest,
): Promise<InsideProgram | SandboxFailure> {
  const { engine, container, args = [], longestFrame, onFrame, onEnd, signal } = request;
  const argv = ["perl", "-e", frames + request.program, ...args];
  const created = await createExec(engine, container, { argv, stdin: true, signal });
  if (!created.ok) return created;
  const hello = Promise.withResolvers<Buffer | SandboxFailure>();
  const state = { open: true, greeted: false, noise: "" };
  const own: { connection?: RawConnection } = {};
  const end = (failure: SandboxFailure) => {
    if (!state.open) return;
    state.open = false;
    own.connection?.close();
    if (state.greeted) onEnd(failure);
    else hello.resolve(failure);
  };
  const breakOff = () =>
    end(sandboxFailure("disconnected", "an answer from the container is not from PicoClaw's program"));
  const readFrames = createFrameReader(
    longestFrame,
    (frame) => {
      if (!state.open) return;
      if (!state.greeted) {
        if (frame.type !== "h") return breakOff();
        state.greeted = true;
        hello.resolve(Buffer.from(frame.payload));
        return;
      }
      try {
        onFrame(frame);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        breakOff();
      }
    },
    breakOff,
  );
  const readStreams = createStreamReader((stream, bytes) => {
    if (stream === "stdout" && !/^OCI runtime exec failed/.test(bytes.toString("latin1", 0, 24)))
      readFrames(bytes);
    else state.noise = (state.noise + bytes.toString()).slice(-KEPT_NOISE);
  });
  const connection = await engine.attach(
    created.value.Id,
    {
      onBytes(bytes) {
        request.onBytes?.();
        readStreams(bytes);
      },
      onClose: (error) => {
        const words = state.noise.trim() || "the connection to the container was lost";
        end(sandboxFailure(NO_ROOM.test(words) ? "no-resources" : "disconnected", words, error));
      },
    },
    signal,
  );
  if ("ok" in connection) return connection;
  own.connection = connection;
  if (!state.open) connection.close();
  const onAbort = () => end(sandboxFailure("aborted", "aborted"));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const greeting = await hello.promise;
  signal.removeEventListener("abort", onAbort);
  if ("ok" in greeting) return greeting;
  return {
    hello: greeting,
    send(type, id, payload) {
      if (state.open) connection.write(encodeFrame(type, id, payload));
    },
    close: () => end(sandboxFailure("aborted", "closed")),
  };
}
