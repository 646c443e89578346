import type {
  Model,
  ModelAnswer,
  ModelEvent,
  ModelFailure,
  ModelRequest,
} from "../../src/application/ports/models.ts";
import { modelMessagesFor } from "../../src/domain/texts/models.ts";
import type { Fetch, ModelDeps, ModelLimits } from "../../src/infrastructure/models/model-settings.ts";
import type { ScriptedReply } from "../fakes/model-server/reply.ts";
import type { ModelServer } from "../fakes/model-server/server.ts";

/** A model under test and its scripted answers. */
export interface ModelBench {
  open(limits?: Partial<ModelLimits>, deps?: Partial<ModelDeps>): Model;
  say(...replies: ScriptedReply[]): void;
  /** How often it was asked. */
  asked(): number;
  /** Waits between tries, in order; no time passes. */
  readonly waits: number[];
  /** Behind a wire. */
  readonly server?: ModelServer;
}

const LIMITS: ModelLimits = { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, retries: 3 };

export function testParts(waits: number[], limits: Partial<ModelLimits> = {}): ModelDeps {
  return {
    fetch: fetch as unknown as Fetch,
    connects: async () => true,
    limits: { ...LIMITS, ...limits },
    messages: modelMessagesFor("en"),
    mask: (text) => text,
    random: Math.random,
    pause: async (ms) => void waits.push(ms),
  };
}

export function ask(text = "hello", more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", text }], signal: new AbortController().signal, ...more };
}

export async function eventsOf(model: Model, request: ModelRequest = ask()): Promise<ModelEvent[]> {
  return Array.fromAsync(model.generate(request));
}

export async function answerOf(model: Model, request?: ModelRequest): Promise<ModelAnswer> {
  const last = (await eventsOf(model, request)).at(-1);
  if (last?.type !== "finished") throw new Error(`no answer but ${JSON.stringify(last)}`);
  return last.answer;
}

export async function failureOf(model: Model, request?: ModelRequest): Promise<ModelFailure> {
  const events = await eventsOf(model, request);
  const last = events.at(-1);
  if (last?.type !== "failed") throw new Error(`no failure but ${JSON.stringify(last)}`);
  const ends = events.filter(({ type }) => type === "failed" || type === "finished");
  if (ends.length !== 1) throw new Error(`${ends.length} ends`);
  return last.failure;
}
