import type { ChatEvent } from "../ports/chat.ts";

/** The messages that this process answers now, for questions about them meanwhile. */
export type WorkBoard = ReturnType<typeof createWorkBoard>;

interface BegunWork extends Disposable {
  note(event: ChatEvent): void;
}

interface WorkNotes {
  readonly request: string;
  plan: string;
  files: readonly string[];
  doing: string;
  readonly steps: string[];
}

const REQUEST_CHARS = 2000;
const STEPS_KEPT = 20;

export function createWorkBoard() {
  const works = new Map<string, WorkNotes>();
  return {
    begin(chatKey: string, request: string): BegunWork {
      const notes: WorkNotes = { request, plan: "", files: [], doing: "", steps: [] };
      works.set(chatKey, notes);
      return {
        note: (event) => noteEvent(notes, event),
        [Symbol.dispose]() {
          if (works.get(chatKey) === notes) works.delete(chatKey);
        },
      };
    },
    isBusy: (chatKey: string) => works.has(chatKey),
    /** The work in a chat, for a model; empty where there is none. */
    tell(chatKey: string): string {
      const notes = works.get(chatKey);
      return notes === undefined ? "" : tellNotes(notes);
    },
  };
}

function noteEvent(notes: WorkNotes, event: ChatEvent): void {
  switch (event.type) {
    case "thinking":
      notes.doing = `${event.agent} is thinking`;
      return;
    case "proposed":
      notes.plan = event.plan;
      notes.files = event.files ?? [];
      return;
    case "progress":
      notes.doing = `attempt ${event.attempt} of ${event.of}: ${event.doing} ${event.detail}`.trim();
      return;
    case "job-command":
      addStep(notes, `ran: ${event.command}`);
      return;
    case "tool":
      if (event.state !== "started") addStep(notes, `${event.name}: ${event.state}`);
      return;
    case "notice":
      addStep(notes, event.text);
      return;
    default:
      return;
  }
}

function addStep({ steps }: WorkNotes, step: string): void {
  steps.push(step.slice(0, 200));
  if (steps.length > STEPS_KEPT) steps.shift();
}

function tellNotes({ request, plan, files, doing, steps }: WorkNotes): string {
  return [
    `Request: ${request.slice(0, REQUEST_CHARS)}`,
    ...(plan === "" ? [] : [`Plan: ${plan.slice(0, REQUEST_CHARS)}`]),
    ...(files.length === 0 ? [] : [`Files of the change so far: ${files.join(", ")}`]),
    ...(steps.length === 0 ? [] : [`Done so far:\n${steps.map((step) => `- ${step}`).join("\n")}`]),
    ...(doing === "" ? [] : [`Now: ${doing}`]),
  ].join("\n");
}
