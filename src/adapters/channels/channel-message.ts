import { stepLines } from "../../application/chat/describe-event.ts";
import type { JobAction } from "../../application/jobs/action-report.ts";
import type { ChatEvent } from "../../application/ports/chat.ts";
import type { Timers } from "../../application/ports/platform.ts";
import type { Outgoing } from "../../application/ports/serve.ts";

export interface MarkdownMapping {
  readonly prose: (text: string) => string;
  /** Code in a line, with its marks. */
  readonly span: (text: string) => string;
  /** Formats the text between two fences; `language`: the word behind the first. */
  readonly block: (text: string, language: string) => string;
}

/** Code apart from prose, so that marks in code stay. In one pass: a reply may be full of fences that never close. */
export function mapMarkdown(text: string, { prose, span, block }: MarkdownMapping): string {
  const words = (part: string) =>
    part
      .split(/(`[^`\n]+`)/)
      .map((piece, i) => (i % 2 === 0 ? prose(piece) : span(piece)))
      .join("");
  const lines = text.split("\n");
  const closings = findClosings(lines);
  const pieces: string[] = [];
  let [done, at] = [0, 0];
  for (let n = 0; n < lines.length; n += 1) {
    const start = at;
    at += (lines[n] as string).length + 1;
    const closing = closings[n + 1] ?? 0;
    const language = FENCE.exec(lines[n] as string)?.[1];
    if (closing === 0 || language === undefined) continue;
    const inside = lines.slice(n + 1, closing).join("\n");
    const end = at + inside.length + (closing > n + 1 ? 1 : 0);
    const mark = CLOSING.exec(lines[closing] as string)?.[0] ?? "";
    pieces.push(words(text.slice(done, start)), block(inside, language));
    done = end + mark.length;
    at = end + (lines[closing] as string).length + 1;
    n = closing;
  }
  return [...pieces, words(text.slice(done))].join("");
}

const FENCE = /^(?:`{3,}|~{3,})(\w*)/;
const CLOSING = /^(?:`{3,}|~{3,}) *(?=\r?$)/;

/** For each line the first from it on that can close a fence; 0: none. */
function findClosings(lines: readonly string[]): Int32Array {
  const closings = new Int32Array(lines.length + 1);
  for (let n = lines.length - 1; n > 0; n -= 1)
    closings[n] = CLOSING.test(lines[n] as string) ? n : (closings[n + 1] as number);
  return closings;
}

export interface StreamedMessageDeps {
  /** Posts the message that is streamed into; null when that failed. */
  readonly begin: () => Promise<string | null>;
  /** Replaces its text. Resolves when the service has answered, or surely will not. */
  readonly update: (ts: string, progress: Progress) => Promise<void>;
  readonly timers: Timers;
  /** Between two updates, so that the service takes them all. */
  readonly pauseMs: number;
}

export interface Progress {
  readonly text: string;
  readonly note: string;
  /** The steps of the plan, each on a line behind its sign. */
  readonly steps?: string;
}

/** The progress after an event of the work; `describe` words it. */
export function addToProgress(
  progress: Progress,
  event: ChatEvent,
  describe: (event: ChatEvent) => string | null,
): Progress {
  if (event.type === "text") return { ...progress, text: progress.text + event.text };
  if (event.type === "steps") return { ...progress, steps: stepLines(event.steps) };
  return { ...progress, note: describe(event) ?? progress.note };
}

/** The message that shows the work on one message until its result takes its place. */
export type StreamedMessage = ReturnType<typeof createStreamedMessage>;

const CLOSE_MS = 10_000;

export function createStreamedMessage(deps: StreamedMessageDeps, first: Progress) {
  const { timers } = deps;
  const ts = deps.begin();
  let progress = first;
  let dirty = false;
  let inFlight: Promise<void> | null = null;
  let cancelPause: (() => void) | null = null;
  let closed: Promise<string | null> | null = null;

  async function send(): Promise<void> {
    const found = await ts;
    if (found === null || closed !== null) return;
    dirty = false;
    await deps.update(found, progress);
  }

  function pump(): void {
    if (closed !== null || inFlight !== null || cancelPause !== null || !dirty) return;
    inFlight = send().finally(() => {
      inFlight = null;
      if (closed !== null) return;
      cancelPause = timers.after(deps.pauseMs, () => {
        cancelPause = null;
        pump();
      });
    });
  }

  async function end(): Promise<string | null> {
    cancelPause?.();
    const late = Promise.withResolvers<"late">();
    const cancel = timers.after(CLOSE_MS, () => late.resolve("late"));
    const settled = (async () => {
      await inFlight;
      return ts;
    })();
    const outcome = await Promise.race([settled, late.promise]);
    cancel();
    return outcome === "late" ? null : outcome;
  }

  return {
    show(change: (progress: Progress) => Progress) {
      if (closed !== null) return;
      progress = change(progress);
      dirty = true;
      pump();
    },
    /** After it no update follows. Null: there is no message, or an update did not end in time and may still arrive. */
    close() {
      closed ??= end();
      return closed;
    },
  };
}

export function actionsIn(content: Outgoing): readonly JobAction[] {
  return content.kind === "reply" ? content.reply.actions : [];
}

/** The preview that a reply says was discarded: no button about it is of use any more. */
export function findDiscardedJob(content: Outgoing): string | null {
  const said = content.kind === "reply" ? (content.reply.said ?? []) : [];
  for (const piece of said)
    if (piece.kind === "action" && piece.facts.action === "discard" && piece.facts.code === "done")
      return piece.facts.name;
  return null;
}
