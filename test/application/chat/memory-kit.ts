import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { createSessions, type SessionDeps } from "../../../src/application/chat/sessions.ts";
import type { Model, ModelFailure, ModelRequest, Models } from "../../../src/application/ports/models.ts";
import type { Logger } from "../../../src/application/ports/platform.ts";
import { createDayClock } from "../../../src/domain/platform/days.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";

export interface Line {
  readonly level: string;
  readonly msg: string;
  readonly event: string;
  readonly fields: Record<string, unknown>;
}

export function listeningLogger(): { log: Logger; lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (_: string, msg: string, event: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void lines.push({ level, msg, event, fields: { ...fields } });
  return { log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

export const NO_MODEL: ModelFailure = { code: "not-configured", message: "no local model", retryable: false };

export interface FakeAnswers {
  readonly asked: ModelRequest[];
  readonly models: Models;
}

type Given = string | ModelFailure | "never";

/** Answers in turn; the last one again and again. `never` waits for the abort. */
export function answering(answers: readonly Given[], more: Partial<Model> = {}): FakeAnswers {
  const asked: ModelRequest[] = [];
  const model: Model = {
    provider: "fake",
    model: "fake-1",
    local: true,
    family: "other",
    check: async () => ({ ok: true, detail: "" }),
    async *generate(request) {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? "";
      asked.push(request);
      if (answer === "never") {
        await new Promise<void>((resolve) => {
          if (request.signal.aborted) resolve();
          request.signal.addEventListener("abort", () => resolve(), { once: true });
        });
        yield { type: "failed", failure: { code: "aborted", message: "aborted", retryable: false } };
        return;
      }
      if (typeof answer !== "string") {
        yield { type: "failed", failure: answer };
        return;
      }
      yield { type: "text", text: answer };
      const usage = { inputTokens: 1000, outputTokens: 100, cachedTokens: 0 };
      yield { type: "finished", answer: { text: answer, toolCalls: [], finish: "stop", usage } };
    },
    ...more,
  };
  return { asked, models: { forRole: () => model } };
}

export interface Bench {
  readonly db: Kysely<Database>;
  readonly file: string;
  readonly lines: Line[];
  readonly time: { now: string };
  sessions(more?: Partial<SessionDeps>): ReturnType<typeof createSessions>;
  remove(): Promise<void>;
}

export async function openBench(start = "2026-03-01T03:00:00.000Z"): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-memory-"));
  const file = join(folder, "picoclaw.db");
  const db = openSqlite(file);
  const time = { now: start };
  const now = () => new Date(time.now);
  await migrate(db, now);
  const { log, lines } = listeningLogger();
  return {
    db,
    file,
    lines,
    time,
    sessions: (more = {}) =>
      createSessions({
        store: createSessionStore({ db, now, workspace: "/ws" }),
        clock: createDayClock("Asia/Tokyo", "00:00"),
        now,
        summarise: async ({ previous, turns }) => ({
          text: [previous, ...turns.map(({ text }) => text)].filter((text) => text !== "").join(" / "),
          by: "model",
        }),
        jobsOf: () => ({ tell: () => "" }),
        log,
        mask: (text) => text.replaceAll("sk-secret", "****"),
        historyTokens: () => 256,
        summaryTokens: 64,
        ...more,
      }),
    async remove() {
      await db.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
