import type { SandboxFailure } from "../../application/ports/containers.ts";
import { createEngine, type EngineDeps } from "./docker-engine.ts";
import program from "./inside/files.pl" with { type: "text" };
import { type InsideProgram, openInsideProgram } from "./inside-program.ts";

/** From the side that asks. `share` is the first; each question waits for the answer to the one before. */
export type FileThreadRequest =
  | { readonly kind: "share"; readonly words: SharedArrayBuffer; readonly room: SharedArrayBuffer }
  | {
      readonly kind: "open";
      readonly channel: number;
      readonly engine: EngineDeps;
      readonly container: string;
      readonly root: string;
    }
  | {
      readonly kind: "ask";
      readonly channel: number;
      readonly id: number;
      readonly payload: Uint8Array;
    }
  | { readonly kind: "close"; readonly channel: number };

/** To the side that asks, but for answers: they are laid into the shared room, where they can be waited for. */
export type FileThreadEvent =
  | { readonly kind: "opened"; readonly channel: number; readonly failure: SandboxFailure | null }
  | { readonly kind: "lost"; readonly channel: number };

/** The shared words: whether the buffer has a part of an answer, its size, the bytes left, the answer's type, the parts so far. */
export const WORD = { state: 0, size: 1, left: 2, type: 3, heard: 4 } as const;
export const WORDS = 5;
export const EMPTY = 0;
const FILLED = 1;
/** The type of an answer that will not come: the text says why. */
export const LOST = 0;

/** The answering server is not trusted: a task can meddle with it, since it runs as the user of the task. */
const LARGEST_ANSWER = 80 * 1024 ** 2;
/** The side that asks takes a part in microseconds; after so long it is gone. */
const TAKEN_MS = 30_000;

interface ThreadPort {
  postMessage(event: FileThreadEvent): void;
  onmessage: ((event: { readonly data: FileThreadRequest }) => void) | null;
}

interface OpenFiles {
  readonly stop: AbortController;
  program: InsideProgram | null;
  /** The id of the question that has no answer yet. */
  asked: number | null;
}

/** Files of containers for a side that cannot wait by a promise: the connections are here, and the other side waits for shared words. */
export function serveContainerFiles(port: ThreadPort): void {
  const channels = new Map<number, OpenFiles>();
  let words: Int32Array = new Int32Array(0);
  let room: Uint8Array = new Uint8Array(0);

  function answer(type: number, bytes: Uint8Array): void {
    for (let at = 0; ; ) {
      const part = bytes.subarray(at, at + room.length);
      at += part.length;
      room.set(part);
      Atomics.store(words, WORD.type, type);
      Atomics.store(words, WORD.size, part.length);
      Atomics.store(words, WORD.left, bytes.length - at);
      Atomics.store(words, WORD.state, FILLED);
      Atomics.notify(words, WORD.state);
      if (at >= bytes.length) return;
      if (Atomics.wait(words, WORD.state, FILLED, TAKEN_MS) === "timed-out") return;
    }
  }

  async function open(request: Extract<FileThreadRequest, { kind: "open" }>): Promise<void> {
    const { channel, container, root } = request;
    const files: OpenFiles = { stop: new AbortController(), program: null, asked: null };
    channels.set(channel, files);
    const opened = await openInsideProgram({
      engine: createEngine(request.engine),
      container,
      program,
      args: [root],
      longestFrame: LARGEST_ANSWER,
      onBytes: () => void Atomics.add(words, WORD.heard, 1),
      onFrame({ type, id, payload }) {
        if (id !== files.asked || (type !== "a" && type !== "e"))
          throw new RangeError("an answer without a question");
        files.asked = null;
        answer(type.charCodeAt(0), payload);
      },
      onEnd({ detail }) {
        channels.delete(channel);
        if (files.asked !== null) answer(LOST, Buffer.from(detail));
        port.postMessage({ kind: "lost", channel });
      },
      signal: files.stop.signal,
    });
    if ("ok" in opened) channels.delete(channel);
    else files.program = opened;
    // An error object of the runtime cannot be sent everywhere; its words are in the detail.
    const failure = "ok" in opened ? { ...opened, cause: undefined } : null;
    port.postMessage({ kind: "opened", channel, failure });
  }

  port.onmessage = ({ data }) => {
    switch (data.kind) {
      case "share":
        words = new Int32Array(data.words);
        room = new Uint8Array(data.room);
        return;
      case "open":
        return void open(data);
      case "ask": {
        const files = channels.get(data.channel);
        if (files?.program == null) return answer(LOST, Buffer.from("the connection is closed"));
        files.asked = data.id;
        return files.program.send("q", data.id, data.payload);
      }
      case "close": {
        const files = channels.get(data.channel);
        files?.stop.abort();
        return files?.program?.close();
      }
    }
  };
}
