import { type Kysely, sql } from "kysely";
import type { ConfigLine } from "../adapters/web/host.ts";
import type { HealthCheck } from "../application/inbox/health.ts";
import type { Channel } from "../application/ports/channel.ts";
import type { EnvironmentReader, SessionReader, TaskReader } from "../application/ports/console.ts";
import type { ModelRole, Models } from "../application/ports/model.ts";
import type { OpenOptions } from "../application/ports/opening.ts";
import { describeConfig, sourceText } from "../config/describe.ts";
import { loadConfig } from "../config/load.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createSessionStore } from "../infrastructure/store/session-store.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const ROLES: readonly ModelRole[] = ["chat", "worker", "coder1", "coder2", "coder3"];

/** `2026-03-01`, in a time zone. */
export function dayIn(timeZone: string, at: Date): string {
  return at.toLocaleDateString("sv", { timeZone });
}

/** The parts that `/readyz` asks. Only the store is needed to take a message; the others are told. */
export function healthChecks(parts: {
  readonly db: Kysely<Database>;
  readonly models: Models;
  readonly docker: { readonly enabled: boolean; readonly host: string };
  readonly channels: Iterable<Channel>;
}): HealthCheck[] {
  return [
    {
      name: "store",
      required: true,
      async check() {
        await sql`select 1`.execute(parts.db);
        return { ok: true, detail: "answers" };
      },
    },
    ...ROLES.map(
      (role): HealthCheck => ({
        name: `model ${role}`,
        required: false,
        async check(signal) {
          const model = parts.models.forRole(role);
          if (!("generate" in model)) return { ok: false, detail: model.message };
          const checked = await model.check(signal);
          const named = `${model.provider}/${model.model}`;
          if (checked.ok) return { ok: true, detail: `${named}: ${checked.detail}` };
          const remedy = checked.remedy === undefined ? {} : { remedy: checked.remedy };
          return { ok: false, detail: `${named}: ${checked.failure.message}`, ...remedy };
        },
      }),
    ),
    {
      name: "docker",
      required: false,
      async check(signal) {
        if (!parts.docker.enabled) return { ok: true, detail: "command_executor.enabled: false" };
        const { pingDocker } = await import("../infrastructure/runtime/docker-ping.ts");
        return { ok: true, detail: await pingDocker(parts.docker.host, signal) };
      },
    },
    ...[...parts.channels].map(
      (channel): HealthCheck => ({
        name: `channel ${channel.name}`,
        required: false,
        check: (signal) => channel.check(signal),
      }),
    ),
  ];
}

/** Sessions and notes, as the conversation keeps them. */
export function sessionReader(db: Kysely<Database>, workspace: string): SessionReader {
  const store = createSessionStore({ db, now: () => new Date(), workspace });
  return {
    async list(keys, limit) {
      const lists = await Promise.all(keys.map((key) => store.list(key, limit)));
      return lists
        .flat()
        .map(({ id, chatKey, openedAt, closedAt, turns }) => ({
          id,
          key: chatKey,
          startedAt: openedAt,
          updatedAt: closedAt ?? openedAt,
          turns,
        }))
        .sort((x, y) => (x.startedAt < y.startedAt ? 1 : -1))
        .slice(0, limit);
    },
    async notes(keys, limit) {
      const lists = await Promise.all(keys.map((key) => store.notes(key, limit)));
      return lists
        .flat()
        .sort((x, y) => (x.savedAt < y.savedAt ? 1 : -1))
        .slice(0, limit)
        .map(({ chatKey, sessionId, text }) => ({
          day: sessionId.replace(/^(\d{4})(\d\d)(\d\d).*$/, "$1-$2-$3"),
          key: chatKey,
          text,
        }));
    },
  };
}

/** Containers of this installation; whatever speaks to Docker is loaded when somebody looks. */
export function environmentReader(
  env: Environment,
  options: OpenOptions,
  isEnabled: () => boolean,
): EnvironmentReader {
  return {
    async list() {
      if (!isEnabled()) return [];
      const { openEnvironments } = await import("./environments.ts");
      const opened = await openEnvironments(env, options);
      if (!opened.ok) return [];
      try {
        const rows = await opened.environments.list();
        if ("ok" in rows) return [];
        return rows.map(({ facts, info, repository }) => ({
          id: facts.id,
          name: repository ?? facts.name,
          image: facts.image,
          state: info?.status ?? facts.state,
          tone: facts.state === "running" ? ("running" as const) : ("waiting" as const),
          createdAt: facts.createdAt,
        }));
      } finally {
        await opened.environments.close();
      }
    },
  };
}

/** Tasks from issues, PRs and MRs. */
export function taskReader(db: Kysely<Database>): TaskReader {
  return {
    async list(limit) {
      const { createSolveStore } = await import("../infrastructure/store/solve-store.ts");
      const tasks = await (await createSolveStore(db, () => new Date())).list(limit);
      return tasks.map(({ id, item, state, phase, askedBy, updatedAt }) => ({
        id,
        title: `${item.repository} #${item.number}`,
        state: state === "running" ? `${state}: ${phase}` : state,
        tone: TASK_TONES[state],
        source: `${item.forge} · ${askedBy}`,
        updatedAt,
      }));
    },
  };
}

const TASK_TONES = {
  waiting: "waiting",
  running: "running",
  paused: "waiting",
  done: "good",
  failed: "bad",
  stopped: "waiting",
} as const;

/** What `config show` would print now. */
export async function configurationLines(env: Environment, options: OpenOptions): Promise<ConfigLine[]> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok) return [];
  return describeConfig(loaded).map(({ key, value, source }) => ({
    key,
    value: JSON.stringify(value),
    source: source.kind === "default" ? null : sourceText(source),
  }));
}
