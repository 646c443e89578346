import type { Kysely } from "kysely";
import type { FarJobs } from "../application/chat/chat-turn.ts";
import type { Conversation, OwnCommands } from "../application/ports/chat.ts";
import type { FleetStore } from "../application/ports/fleet.ts";
import type { NotOpened, Opened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { AccessStore, MessageStore, WorkQueue } from "../application/ports/serve.ts";
import type { CommitGuard } from "../application/serve/take-work.ts";
import type { Config, Secrets } from "../config/config.ts";
import { resolveLocale } from "../config/environment.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { type ServeMessages, serveMessagesFor } from "../domain/texts/serve.ts";
import type { OwnerNames } from "../infrastructure/engine/process-table.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import type { ChatChoices } from "./chat.ts";
import type { Telemetry } from "./telemetry.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The parts that a reload replaces. */
interface ServeState extends Opened {
  readonly conversation: Conversation;
  readonly ownCommands: OwnCommands;
  readonly locale: Locale;
}

export type OpenedState =
  | {
      readonly ok: true;
      current(): ServeState;
      /** Reads the configuration again; null when that went well, else why the old one stays. */
      reload(): Promise<string | null>;
      openMcp(): Promise<{ handle(request: Request): Promise<Response>; close(): Promise<void> }>;
      close(): Promise<void>;
    }
  | { readonly ok: false; readonly refused: NotOpened };

/** The workspace and the conversation on it, exchangeable while the server runs. */
export async function openServeState(
  env: Environment,
  options: OpenOptions,
  choices: Pick<ChatChoices, "db" | "onModelCall" | "mayCommit" | "process" | "farJobs">,
): Promise<OpenedState> {
  const { openChat } = await import("./chat.ts");
  const first = await openChat(env, options, choices);
  if (!first.ok) return { ok: false, refused: first };
  const held = { chat: first, stopClock: first.keepTime() };
  /** Messages that are being answered keep what they began with. */
  const retired: (typeof first)[] = [];
  return {
    ok: true,
    current: () => {
      const { workspace, config, messages, warnings, conversation, ownCommands } = held.chat;
      const locale = resolveLocale({ env, config });
      return { workspace, config, messages, warnings, conversation, ownCommands, locale };
    },
    async reload() {
      const next = await openChat(env, options, choices);
      if (!next.ok) {
        const { messages, problems, message } = next;
        return message ?? [messages.configInvalid, ...problems.map(messages.configProblem)].join("\n");
      }
      // Messages that wait belong to the workspace that this process was started for.
      if (next.workspace.root !== held.chat.workspace.root) {
        await next.close();
        return serveMessagesFor(resolveLocale({ env, config: next.config })).workspaceMoved(
          next.workspace.root,
        );
      }
      retired.push(held.chat);
      held.chat = next;
      held.stopClock();
      held.stopClock = next.keepTime();
      return null;
    },
    async openMcp() {
      const { openMcp } = await import("./mcp.ts");
      const { root } = held.chat.workspace;
      const opened = await openMcp(env, { ...options, workspace: root }, () => {});
      if (!opened.ok) throw new Error(opened.message ?? "the workspace cannot be opened");
      return opened.endpoint();
    },
    async close() {
      held.stopClock();
      for (const chat of [...retired, held.chat]) await chat.close();
    },
  };
}

/** The parts that `serve` has opened before it listens. */
export interface ListenDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly options: OpenOptions & { readonly demo: boolean };
  readonly db: Kysely<Database>;
  readonly state: Extract<OpenedState, { ok: true }>;
  readonly access: AccessStore;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
  /** As it was at the start: address, limits. */
  readonly config: Config;
  readonly secrets: Secrets;
  readonly home: string;
  /** The served workspace, as the store names it. */
  readonly workspaceName: string;
  /** This process, as the queue and the turns of chats name it. */
  readonly owner: string;
  readonly owners: OwnerNames;
  readonly words: () => ServeMessages;
  readonly guard: CommitGuard;
  /** How chats reach jobs of other machines; set once those are known. */
  readonly far: { jobs: FarJobs | null };
  /** Null where no collector is configured. */
  readonly telemetry: Telemetry | null;
}

/** The same once it is known where it listens and who hears of troubles. */
export interface ServeDeps extends ListenDeps {
  readonly store: MessageStore;
  readonly queue: WorkQueue;
  readonly fleet: FleetStore;
  readonly newWorkId: () => string;
  readonly startedAt: Date;
  /** Without a slash at its end; null when nobody named it. */
  readonly publicUrl: string | null;
  readonly log: (text: string) => void;
  readonly onTrouble: (error: unknown, place?: string) => void;
}
