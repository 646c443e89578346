import type { CoderRole } from "../../domain/chat/roster.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import type { ChatMessages } from "../../domain/texts/texts.ts";
import type { Meter } from "../models/meter.ts";
import type { CheckMemory } from "../ports/checks.ts";
import type { Logger } from "../ports/logger.ts";
import type { ModelTool } from "../ports/models.ts";
import type { OwnCommands } from "../ports/own-commands.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { WorkspaceFiles } from "../ports/workspace-files.ts";
import type { CheckSettings } from "../checks/check-settings.ts";
import type { ChatQueue } from "./chat-queue.ts";
import type { FarJobs } from "./far-jobs.ts";
import type { Router } from "./route-message.ts";
import type { Sessions } from "./sessions.ts";
import type { Steering } from "./steering.ts";
import type { Answer, ChatTurn, LookRequest } from "./turn.ts";

/** Everything a conversation needs, wired by hand. */
export interface ChatDeps {
  /** Everything that changes it is a job. */
  readonly workspace: Workspace;
  readonly project: ProjectFiles;
  /** The same over other files than those that stand: a draft's. */
  readonly projectOf: (files: WorkspaceFiles) => ProjectFiles;
  /** What the project's checks judge by. */
  readonly checks: {
    readonly settings: CheckSettings;
    readonly memory: CheckMemory;
    /** Checks that may run at once where several coders work: one for two cores. */
    readonly atOnce: number;
  };
  /** Whether a coder can be asked at all: it is configured, and its key is there. */
  readonly canAsk: (role: CoderRole) => boolean;
  /** Whether a shell script sends something out that cannot be taken back. Loads the parser when it needs it. */
  readonly reachesOutward: (script: string) => Promise<boolean>;
  readonly sessions: Sessions;
  readonly router: Router;
  readonly queue: ChatQueue;
  readonly steering: Steering;
  readonly meter: Meter;
  /** The tools that Shiro may call in one message. Opened late: it loads the toolkit and starts MCP servers. */
  readonly openToolbox: (request: ToolboxRequest) => Promise<Toolbox>;
  /** Absent where there are no other machines. */
  readonly farJobs?: FarJobs;
  /** Runs what nobody waits for; the program ends after it. */
  readonly afterReply: (work: () => Promise<void>) => void;
  readonly settings: ConversationSettings;
  readonly messages: Messages;
  readonly chat: ChatMessages;
  /** Commands of other parts of the house: `/why`, `/usage`, … */
  readonly commands: Readonly<Record<string, ChatCommand>>;
  /** Those of them that only look, and need not wait for what runs in their chat. */
  readonly looks: Readonly<Record<string, LookCommand>>;
  /** Commands and skills that the user wrote. */
  readonly ownCommands: OwnCommands;
  readonly logger: Logger;
  readonly now: () => Date;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}

export type ChatCommand = (parts: ChatDeps, turn: ChatTurn, rest: string) => Promise<Answer>;

/** Changes nothing, so that it may be answered beside whatever runs. */
export type LookCommand = (parts: ChatDeps, look: LookRequest, rest: string) => Promise<Answer>;

export interface ConversationSettings {
  readonly maxLoops: number;
  readonly maxMillis: number;
  readonly defaultCoder: CoderRole;
  readonly dryRun: boolean;
  readonly protectedPatterns: readonly string[];
  /** Names of the MCP servers; `browser` is the one that `uses_browser` goes to. */
  readonly mcpServers: readonly string[];
  readonly coder: CoderSettings;
}

/** `coder:` of the configuration. */
export interface CoderSettings {
  readonly attempts: number;
  readonly explore: number;
  readonly onRed: "preview" | "apply" | "discard";
  /** Of model time. */
  readonly maxMinutes: number;
  readonly budgetUsd: number | null;
  /** Coders that work on a message at once. */
  readonly candidates: number;
  /** The next coder tries where one does not get green. */
  readonly escalate: boolean;
}

export interface ToolboxRequest {
  readonly groupId: string;
  readonly sessionKey: string;
  /** MCP servers to start; all that are configured when absent. */
  readonly servers?: readonly string[];
  /** Whether PicoClaw's own tools are among them. Default: yes. */
  readonly toolkit?: boolean;
  /** Whether the web may be read. Default: no. */
  readonly web?: boolean;
  /** Dry mode or a preview: nothing is written and no MCP server is started. */
  readonly readOnly: boolean;
}

/** Tools for one message. A call never rejects. */
export interface Toolbox {
  readonly tools: readonly ModelTool[];
  /** Servers that could not be started, and why; the rest goes on. */
  readonly unavailable: readonly { readonly server: string; readonly detail: string }[];
  call(
    name: string,
    args: unknown,
    options: { readonly signal: AbortSignal; readonly onOutput: (text: string) => void },
  ): Promise<ToolOutcome>;
  close(): Promise<void>;
}

export interface ToolOutcome {
  readonly ok: boolean;
  /** For the model; masked and capped. */
  readonly text: string;
  readonly jobId?: string;
  /** Set for a tool of an MCP server: what it did cannot be taken back. */
  readonly server?: string;
  /** Set for a read of the web: the host that was asked. */
  readonly web?: string;
}
