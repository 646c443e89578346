import type { Config } from "../../config/config.ts";
import { listProblems } from "../../domain/texts/config-problem.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type ServeMessages, serveMessagesFor } from "../../domain/texts/serve.ts";
import type { OpenChat } from "../ports/chat-opened.ts";
import type { NotOpened, OpenedWorkspace, Opening } from "../ports/jobs-workspace.ts";
import type { AccessStore } from "../ports/serve.ts";
import type { SignIn } from "./access.ts";
import type { TimedWork } from "./timed-rounds.ts";

export interface Server {
  readonly words: () => ServeMessages;
  readonly access: AccessStore;
  readonly signIn: SignIn;
  /** The `host:port` at which a server of this home listens now, in any process; null if none does. */
  liveAddress(): string | null;
  /** Rejects with a `code` when the address cannot be had. */
  listen(options: ListenOptions): Promise<RunningServer>;
  /** Works without listening. Rejects with the `code` "machine" when another machine has this one's id. */
  join(options: JoinOptions): Promise<JoinedFleet>;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly log: (text: string) => void;
}

export interface JoinOptions {
  /** Beside what is known of the machine. */
  readonly labels: readonly string[];
  /** Messages, and tasks, at once. */
  readonly concurrency: number;
  readonly log: (text: string) => void;
}

export interface JoinedFleet extends Pick<RunningServer, "reload" | "stop" | "noteFault"> {
  readonly machineName: string;
  readonly labels: readonly string[];
}

export interface RunningServer {
  readonly url: string;
  /** Null, or why the old configuration stays. */
  reload(): Promise<string | null>;
  /** Logs and counts an error that no caller caught; the server continues. */
  noteFault(error: unknown): void;
  /** Accepts nothing new, finishes or hands back running work; at most thirty seconds. */
  stop(): Promise<void>;
}

export interface ServeState
  extends OpenedWorkspace,
    Pick<OpenChat, "conversation" | "images" | "ownCommands" | "listFiles" | "processes"> {
  readonly locale: Locale;
}

export interface ReloadableChat {
  current(): ServeState;
  /** Null, or why the old configuration stays. */
  reload(): Promise<string | null>;
  close(): Promise<void>;
}

export async function openReloadableChat(
  open: () => Promise<Opening<OpenChat>>,
  localeOf: (config: Config) => Locale,
): Promise<(ReloadableChat & { readonly ok: true }) | NotOpened> {
  const first = await open();
  if (!first.ok) return first;
  const held = { chat: first, stopClock: first.keepTime() };
  /** Messages that are being answered keep what they began with. */
  const retired: (typeof first)[] = [];
  return {
    ok: true,
    current: () => ({ ...held.chat, locale: localeOf(held.chat.config) }),
    async reload() {
      const next = await open();
      if (!next.ok) {
        const { messages, problems, message } = next;
        return message ?? [messages.configInvalid, ...listProblems(messages, problems)].join("\n");
      }
      // Messages that wait belong to the workspace that this process was started for.
      if (next.workspace.root !== held.chat.workspace.root) {
        await next.close();
        return serveMessagesFor(localeOf(next.config)).workspaceMoved(next.workspace.root);
      }
      retired.push(held.chat);
      held.chat = next;
      held.stopClock();
      held.stopClock = next.keepTime();
      return null;
    },
    async close() {
      held.stopClock();
      for (const chat of [...retired, held.chat]) await chat.close();
    },
  };
}

/** Begins to work; where that fails, everything is given back. */
export async function joinWorking(
  working: RunServerDeps["working"],
  joined: Omit<JoinedFleet, "stop" | "noteFault">,
): Promise<JoinedFleet> {
  await working.start().catch(async (error: unknown) => {
    await working.giveUp();
    throw error;
  });
  return { ...joined, noteFault: working.noteFault, stop: () => working.stop(async () => {}) };
}

export interface RunServerDeps {
  readonly working: {
    start(): Promise<void>;
    giveUp(): Promise<void>;
    noteFault(error: unknown): void;
    /** `last` runs once nothing works any more. */
    stop(last: () => Promise<void>): Promise<void>;
  };
  /** Where it is to listen; the port that it got is written here. */
  readonly place: { readonly host: string; port: number; readonly publicUrl: string | null };
  /** Reads the configuration again; null, or why the old one stays. */
  readonly reload: () => Promise<string | null>;
  /** Listens, with a page that may have the server reload. */
  readonly listen: (reload: () => Promise<string | null>) => {
    readonly port: number;
    close(): Promise<void>;
  };
  readonly startRounds: () => Promise<TimedWork>;
  /** Lets other processes know; the result takes it away again. */
  readonly noteAddress: (address: string) => () => void;
  /** Ends open streams of the server's connections. */
  readonly closing: AbortController;
  readonly closeMcp: () => Promise<void>;
}

/** Listens, starts to work, and ends both in the order in which nothing is lost. */
export async function runServer(deps: RunServerDeps): Promise<RunningServer> {
  const { working, place, closing } = deps;
  const renew = { rounds: async () => {} };
  const reload = async () => {
    const problem = await deps.reload();
    if (problem === null) await renew.rounds();
    return problem;
  };
  const server = deps.listen(reload);
  place.port = server.port;
  const startAll = async () => {
    await working.start();
    return deps.startRounds();
  };
  const rounds = await startAll().catch(async (error: unknown) => {
    // No process would answer a message taken in here.
    closing.abort();
    await server.close();
    await working.giveUp();
    throw error;
  });
  renew.rounds = rounds.renew;
  const { host } = place;
  const shown = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  const address = `${shown}:${server.port}`;
  const forgetAddress = deps.noteAddress(address);
  return {
    url: place.publicUrl ?? `http://${address}`,
    reload,
    noteFault: working.noteFault,
    async stop() {
      forgetAddress();
      rounds.stop();
      closing.abort();
      await working.stop(async () => {
        await deps.closeMcp();
        await server.close();
      });
    },
  };
}
