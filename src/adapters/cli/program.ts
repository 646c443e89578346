import type { OpenChat } from "../../application/ports/chat-opened.ts";
import type { KnownChecks } from "../../application/ports/checks.ts";
import type { OpenEnvironments } from "../../application/ports/containers-opened.ts";
import type { OpenedFleet } from "../../application/ports/fleet.ts";
import type {
  OpenedCompare,
  OpenedFigures,
  WorkspaceHistory,
} from "../../application/ports/history-opened.ts";
import type { AllJobs } from "../../application/ports/jobs.ts";
import type {
  DoctorCheck,
  NotOpened,
  OpenedWorkspace,
  Opening,
  OpenOptions,
} from "../../application/ports/jobs-workspace.ts";
import type { McpServers } from "../../application/ports/mcp.ts";
import type { BackgroundProcess, WorkspaceProcesses } from "../../application/ports/sandbox-processes.ts";
import type { OpenedSetUp } from "../../application/ports/setup.ts";
import type { StoreData } from "../../application/ports/store.ts";
import type { OpenSolve, OpenTasks } from "../../application/ports/tasks.ts";
import type { ToolForm, Toolkit } from "../../application/ports/tools.ts";
import type { Server } from "../../application/serve/server.ts";
import type { KeptAsideFolder } from "../../domain/jobs/result.ts";
import type { MemoryMessages } from "../../domain/texts/chat.ts";
import type { Locale } from "../../domain/texts/locale.ts";

/** The parts of the process and of the wiring that the command line needs. */
export interface CliProgram {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly locale: Locale;
  /** Whether a program reads the output of this command. */
  readonly json: boolean;
  /** Where PicoClaw keeps its own files. */
  readonly home: string;
  readonly version: string;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes an error that the program did not expect to the log. Returns the log's place; null where it cannot be written. */
  readonly logFault: (error: unknown) => Promise<string | null>;
  /** Receives the errors that no caller caught, until the result is called. */
  readonly takeFaults: (handle: (error: unknown) => void) => () => void;
  /** To a terminal: a text that may be longer than the screen. */
  readonly page: (text: string) => Promise<void>;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly inIsTerminal: boolean;
  /** The width of the terminal; without a terminal, lines are not wrapped. */
  readonly columns: () => number;
  /** The width of the terminal on standard error; 80 if it is not a terminal. */
  readonly errColumns: () => number;
  /** Throws EFBIG where it is larger than 64 MiB. */
  readonly readInput: () => Uint8Array;
  /** Throws where it cannot be read; with EFBIG where it is larger than any patch or task, or has no end. */
  readonly readFile: (path: string) => Uint8Array;
  /** The same program in another folder with another environment. */
  readonly elsewhere: (place: { readonly cwd: string; readonly env: CliProgram["env"] }) => CliProgram;
  readonly openWorkspace: (options: OpenOptions) => Promise<Opening>;
  readonly openProcesses: (options: OpenOptions) => Promise<OpenedProcesses>;
  /** The agent's tools on a workspace; loaded when they are asked for. */
  readonly openToolkit: (options: OpenOptions) => Promise<Opening<{ readonly toolkit: Toolkit }>>;
  readonly toolDefinitions: (form: ToolForm) => Promise<readonly object[]>;
  /** Task files on a workspace; Docker and the planning model are asked for when a task needs them. */
  readonly openTasks: (options: OpenOptions) => Promise<Opening<{ readonly tasks: OpenTasks }>>;
  /** The same tools for MCP clients; the protocol's library is loaded when it is served. */
  readonly openMcp: (options: OpenOptions) => Promise<Opening<OpenMcp>>;
  /** The MCP servers that PicoClaw itself calls. */
  readonly openMcpServers: (
    options: OpenOptions,
  ) => Promise<{ readonly ok: true; readonly servers: McpServers } | NotOpened>;
  /** The agent for editors on standard input and output, until the editor disconnects or the signal aborts. */
  readonly serveAcp: (options: OpenOptions, stop: AbortSignal) => Promise<void>;
  /** The machine's services that a conversation at a terminal needs. */
  readonly terminalHost: () => Promise<TerminalHost>;
  /** Whether a configuration was written for this folder or this user, or a model's key is in the environment. */
  readonly isConfigured: () => boolean;
  /** The hosts that the files of a folder and the remotes of its own repository name now. */
  readonly namedHosts: (folder: string) => Promise<readonly string[]>;
  /** Whether this user has a configuration file. */
  readonly hasConfigFile: () => boolean;
  /** The input history of conversations. */
  readonly chatHistory: { readonly file: string; save(text: string): void };
  readonly openHistory: (options: OpenOptions) => Promise<Opening<{ readonly history: WorkspaceHistory }>>;
  readonly openChecks: (options: OpenOptions) => Promise<Opening<{ readonly checks: KnownChecks }>>;
  /** The usage in the store, and the workspace's jobs, as figures. */
  readonly openFigures: (options: OpenOptions) => Promise<Opening<{ readonly figures: OpenedFigures }>>;
  /** Its cases, and what plays coders on them. */
  readonly openCompare: (options: OpenOptions) => Promise<Opening<OpenedCompare>>;
  /** The conversation on a workspace. */
  readonly openChat: (options: OpenOptions & { readonly isOnce?: boolean }) => Promise<OpenedChat>;
  /** Task environments; the code for Docker is loaded on first use. */
  readonly openEnvironments: (
    options: OpenOptions,
  ) => Promise<{ readonly ok: true; readonly environments: OpenEnvironments } | NotOpened>;
  readonly openIndex: (
    options: OpenOptions,
  ) => Promise<{ readonly ok: true; readonly index: AllJobs } | NotOpened>;
  readonly openStoreData: (options: OpenOptions) => Promise<OpenedStoreData>;
  /** The server and everything it runs; nothing listens until `listen` is called. */
  readonly openServe: (options: OpenOptions & { readonly demo: boolean }) => Promise<OpenedServe>;
  /** The machines that share the store. */
  readonly openFleet: (options: OpenOptions) => Promise<OpenedFleet>;
  /** A throw-away workspace with a scripted model; the options and the environment that lead there. */
  readonly openDemo: () => Promise<{
    readonly workspace: string;
    readonly env: CliProgram["env"];
    remove(): Promise<void>;
  }>;
  /** Tasks from GitHub and GitLab. */
  readonly openSolve: (options: OpenOptions) => Promise<Opening<OpenSolve>>;
  /** The first configuration file, and what this machine has. */
  readonly openSetUp: (options: OpenOptions & { readonly startOver: boolean }) => Promise<OpenedSetUp>;
  /** Why Mio, Shiro and the default coder cannot answer as configured. No server is contacted. */
  readonly modelTroubles: (
    options: OpenOptions,
  ) => Promise<readonly { readonly role: string; readonly code: string; readonly message: string }[]>;
  /** Why `models.json` of PICOCLAW_HOME does not hold; null: it does, or there is none. */
  readonly tableTrouble: () => Promise<{ readonly file: string; readonly detail: string } | null>;
  /** One line from the terminal, shown while it is typed unless it is hidden; null when there are no more. */
  readonly askLine: (question: string, options?: { readonly isHidden?: boolean }) => Promise<string | null>;
  /** Keeps a key for this user alone, or with null forgets it; returns the file. */
  readonly keepKey: (variable: string, key: string | null) => Promise<string>;
  /** Opens a web address in the user's browser, where this machine has a screen. */
  readonly openInBrowser: (address: string) => Promise<void>;
  /** Removes for good what the roll-back of a job kept aside; null: nothing. `unfinished`: it has not ended. */
  readonly removeKeptAside: (
    opened: OpenedWorkspace,
    jobId: string,
  ) => Promise<KeptAsideFolder | "unfinished" | null>;
  readonly diagnose: (
    opened: OpenedWorkspace,
    options: { repair: boolean },
  ) => Promise<readonly DoctorCheck[]>;
}

/** Git, the user's editor and the shell, as a conversation needs them. */
export interface TerminalHost {
  /** Files of a project by their paths, those that git ignores left out. Empty where they cannot be read. */
  listFiles(root: string): Promise<readonly string[]>;
  /** `main`, or `main*` where something is not committed; empty where there is no git. */
  branch(root: string): Promise<string>;
  /** Opens a text in the user's own editor; null if there is no editor, or it ended with an error. */
  edit(text: string): string | null;
  /** Opens a file in the user's own editor; false if there is no editor. */
  openFile(path: string): boolean;
  /** A regular file by a path as a user types it, looked for in these folders; null where there is none, or it is huge. */
  readFile(path: string, folders: readonly string[]): Uint8Array | null;
  /** The image of the clipboard as PNG, by the first program here that can read it. */
  readClipboardImage(): Promise<Uint8Array | "no-image" | "no-program">;
  /** Suspends this process as Ctrl-Z does, and calls back when it resumes. */
  suspend(onResume: () => void): void;
  /** Has this written to the terminal, and its modes set right, if this process is killed. Returns how to end the guard. */
  guardTerminal(restore: string): () => void;
  /** Lines of standard input, one by one. */
  lines(): AsyncIterable<string>;
}

export type OpenedStoreData =
  | { readonly ok: true; readonly data: StoreData; readonly words: MemoryMessages }
  | NotOpened;

export type OpenedProcesses = Opening<{
  readonly processes: WorkspaceProcesses;
  /** Those of every workspace of this home. */
  listEverywhere(): Promise<readonly BackgroundProcess[]>;
}>;

export type OpenedChat = Opening<OpenChat>;
export type OpenChatFolder = Extract<OpenedChat, { ok: true }>;
export type OpenedServe = Opening<Server>;
export type OpenServer = Extract<OpenedServe, { ok: true }>;

interface OpenMcp {
  /** Both end when the signal aborts, and stdio when its client disconnects; a running job is rolled back. */
  serveStdio(stop: AbortSignal): Promise<void>;
  serveHttp(port: number, stop: AbortSignal): Promise<void>;
}

/** `interrupted`: the exit code that a shell expects of a program that Ctrl-C ended. */
export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3, interrupted: 130 } as const;
