import type { SignIn } from "../../application/inbox/sign-in.ts";
import type { AccessStore } from "../../application/ports/access.ts";
import type { Conversation } from "../../application/ports/conversation.ts";
import type { JobIndex } from "../../application/ports/job-index.ts";
import type { NotOpened, Opened, Opening, OpenOptions } from "../../application/ports/opening.ts";
import type { ChatMessages } from "../../domain/texts/chat/messages.ts";
import type { ServeMessages } from "../../domain/texts/serve/messages.ts";
import type { OpenedEnvironments } from "./environments.ts";
import type { InitOutcome } from "./init.ts";
import type { OpenedSolve } from "./solve.ts";
import type { OpenedTasks } from "./tasks.ts";

/** What the command line needs of the process and of the wiring. */
export interface CliProgram {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly inIsTerminal: boolean;
  readonly readInput: () => Uint8Array;
  readonly readFile: (path: string) => Uint8Array;
  /** Removes a folder of PicoClaw's own, read-only parts included. */
  readonly removeFolder: (path: string) => Promise<void>;
  /** The same program in another folder with another environment. */
  readonly elsewhere: (place: { readonly cwd: string; readonly env: CliProgram["env"] }) => CliProgram;
  readonly openWorkspace: (options: OpenOptions) => Promise<Opening>;
  /** The agent's tools on a workspace; loaded when they are asked for. */
  readonly openToolkit: (options: OpenOptions) => Promise<OpenedToolkit>;
  readonly toolDefinitions: (form: ToolForm) => Promise<readonly object[]>;
  /** Task files on a workspace; Docker and the planning model are asked for when a task needs them. */
  readonly openTasks: (options: OpenOptions) => Promise<OpenedTasks>;
  /** The same tools for MCP clients; the protocol's library is loaded when it is served. */
  readonly openMcp: (options: OpenOptions) => Promise<OpenedMcp>;
  /** Key by key, for a conversation. Only where input and output are a terminal. */
  readonly openTerminal: (onBytes: (bytes: Uint8Array) => void, onEnd: () => void) => Promise<Terminal>;
  /** What was typed in conversations. */
  readonly chatHistory: { readonly file: string; save(text: string): void };
  /** The conversation on a workspace. */
  readonly openChat: (options: OpenOptions) => Promise<OpenedChat>;
  /** Task environments; whatever speaks to Docker is loaded when they are asked for. */
  readonly openEnvironments: (options: OpenOptions) => Promise<OpenedEnvironments>;
  readonly openIndex: (options: OpenOptions) => Promise<OpenedIndex>;
  /** The server and everything it runs; nothing listens until it is told to. */
  readonly openServe: (options: OpenOptions & { readonly demo: boolean }) => Promise<OpenedServe>;
  /** A throw-away workspace with a scripted model; the options and the environment that lead there. */
  readonly openDemo: () => Promise<DemoPlace>;
  /** Tasks from GitHub and GitLab. */
  readonly openSolve: (options: OpenOptions) => Promise<OpenedSolve>;
  /** The first configuration file, and what this machine has. */
  readonly init: (options: OpenOptions) => Promise<InitOutcome>;
  readonly diagnose: (opened: Opened, options: { repair: boolean }) => Promise<readonly Check[]>;
}

export interface Terminal {
  write(text: string): void;
  columns(): number;
  close(): void;
}

/** One finding of `doctor`. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly remedy?: string;
  /** Something works without it: told, but no failure of `doctor`. */
  readonly optional?: boolean;
}

export type OpenedIndex =
  | { readonly ok: true; readonly index: JobIndex & { syncAll(): Promise<void> } }
  | NotOpened;

export type OpenedToolkit = Opening<{ readonly toolkit: Toolkit }>;

export type OpenedChat = Opening<{
  readonly conversation: Conversation;
  readonly chat: ChatMessages;
  /** What can follow a slash, routes too. */
  readonly commands: readonly string[];
  /** For a process that stays: sessions end with their day, though nobody speaks. Returns how to end it. */
  keepTime(): () => void;
  /** Waits for what still runs behind the last reply. */
  close(): Promise<void>;
}>;

export type OpenedMcp = Opening<{
  /** Both end when the signal says so, and stdio when its client goes; what was running is taken back. */
  serveStdio(stop: AbortSignal): Promise<void>;
  serveHttp(port: number, stop: AbortSignal): Promise<void>;
}>;

export type OpenedServe = Opening<{
  readonly words: () => ServeMessages;
  readonly access: AccessStore;
  readonly signIn: SignIn;
  /** Rejects with a `code` when the address cannot be had. */
  listen(options: {
    readonly host: string;
    readonly port: number;
    readonly log: (text: string) => void;
  }): Promise<Serving>;
  close(): Promise<void>;
}>;

export interface Serving {
  readonly url: string;
  /** Null, or why the old configuration stays. */
  reload(): Promise<string | null>;
  /** Takes nothing new, finishes or hands back what runs; at most thirty seconds. */
  stop(): Promise<void>;
}

export interface DemoPlace {
  readonly workspace: string;
  readonly env: CliProgram["env"];
  remove(): Promise<void>;
}

/** The agent's tools, as the command line calls them. */
export interface Toolkit {
  /** Never rejects. */
  invoke(
    name: string,
    args: unknown,
    options: { readonly signal: AbortSignal; readonly onOutput?: (text: string) => void },
  ): Promise<ToolEnvelope>;
}

export type ToolEnvelope =
  | { readonly status: "success" }
  | {
      readonly status: "failure" | "denied";
      readonly reason: string;
      readonly message: string;
      readonly error: { readonly code: string };
    };

export type ToolForm = "plain" | "openai" | "anthropic" | "mcp";

export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3 } as const;
