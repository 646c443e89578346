import type { CoderRole, MeasuredOrder } from "../../domain/chat/agents.ts";
import type { McpServerSettings } from "../../domain/chat/mcp-servers.ts";
import type { HeadName } from "../../domain/config/configured-kinds.ts";
import { type ChatMessages, chatMessagesFor } from "../../domain/texts/chat.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { CheckSettings } from "../checks/baseline.ts";
import type { JobAction } from "../jobs/action-report.ts";
import type { Advise } from "../platform/advise.ts";
import type {
  ChatEvent,
  ChatSchedules,
  Decision,
  FarJobs,
  ImageStore,
  IncomingMessage,
  LoadedImage,
  OwnCommands,
  Reply,
  Route,
  Session,
  TalkForm,
} from "../ports/chat.ts";
import type { CheckMemory, SourceParsers } from "../ports/checks.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { ProjectForges } from "../ports/forges.ts";
import type { Heads } from "../ports/heads.ts";
import type { FigureScope, WorkspaceHistory } from "../ports/history-opened.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Model, ModelRecords, ModelTool } from "../ports/models.ts";
import type { Meter, MeteredModels } from "../ports/models-meter.ts";
import type { Logger } from "../ports/platform.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import type { WorkspaceProcesses } from "../ports/sandbox-processes.ts";
import type { ChatQueue, Steering } from "./chat-queue.ts";
import { type Exchange, isCoderAgent } from "./exchanges.ts";
import type { JobHistory } from "./job-history.ts";
import { type ReplyPiece, say } from "./reply-words.ts";
import type { Router } from "./route-message.ts";
import type { Sessions } from "./sessions.ts";

export interface ChatTurn {
  readonly message: IncomingMessage;
  /** The message's images, in the form that models take. */
  readonly images: readonly LoadedImage[];
  /** `<channel>:<chatId>`. */
  readonly sessionKey: string;
  readonly session: Session;
  /** The chat's memory from before the history. */
  readonly memory: string;
  /** The part of the memory that the user keeps by name (`/memo`). */
  readonly memos: string;
  /** The last exchanges that fit, oldest first. */
  readonly history: readonly Exchange[];
  /** Older exchanges that were not forgotten. */
  readonly older: readonly Exchange[];
  /** The results of the chat's jobs in this workspace. */
  readonly jobs: JobHistory;
  readonly dry: boolean;
  readonly models: MeteredModels;
  /** The group of all jobs of this message, which `/undo` undoes. */
  readonly groupId: string;
  readonly signal: AbortSignal;
  /** On the monotonic clock: when the models' time is over. */
  readonly deadline: number;
  readonly emit: (event: ChatEvent) => void;
  /** Whether a coder's answer is reported while it is being written. */
  readonly tellsDrafts: boolean;
  readonly dryRun: boolean;
  readonly preview: boolean;
  /** The user's words, where a command worded the request. */
  readonly asked?: string;
  /** Pieces at the start of the reply, such as that a new day began. */
  readonly notes: readonly ReplyPiece[];
  /** Rounds of this message so far (`loop.max_loops`); every agent counts its own. */
  readonly rounds: { count: number };
}

/** The input of a read-only command: neither the chat's turn nor its session. */
export type LookRequest = Pick<ChatTurn, "message" | "sessionKey">;

/** Facts and words; the reply words them in the reader's language. */
export interface Answer extends Pick<Reply, "ok" | "jobs"> {
  readonly said: readonly ReplyPiece[];
  readonly agent: string;
  readonly model?: NonNullable<Reply["model"]>;
  readonly actions?: Reply["actions"];
  readonly choices?: Reply["choices"];
  /** A command asks for an answer by another route. */
  readonly again?: {
    readonly route: Route;
    readonly text: string;
    /** The user's own words, if the command words the request: they are the title of its job. */
    readonly asked?: string;
    /** A proposal of the answer stays a preview. */
    readonly preview?: boolean;
    /** The command's own words are a notice and not part of the reply. */
    readonly isNoticeOnly?: boolean;
    /** The command's work with the answer; its pieces follow the answer. */
    readonly after?: (answer: Answer) => Promise<readonly ReplyPiece[]>;
  };
  /** A command asks for an answer to this message instead. */
  readonly instead?: string;
  /** Shiro's advice that another agent should answer. */
  readonly reroute?: { readonly route: Route; readonly confidence: number; readonly fit: number };
}

export interface RoutedText {
  readonly text: string;
  readonly decision: Decision;
}

/** The beginning of the group ids of a chat's jobs. */
export function groupPrefix(sessionKey: string): string {
  return `${sessionKey}#`;
}

/** The language of a chat, and its clock. */
export interface ChatBase {
  readonly messages: Messages;
  readonly chat: ChatMessages;
  readonly now: () => Date;
  /** The date that models are given: `2026-03-01`, in the time zone of the user's sessions. */
  readonly today: () => string;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** The record of local models' earlier answers; loaded for the first of them. Absent where nothing is kept. */
  readonly modelRecords?: () => Promise<ModelRecords>;
}

/** The workspace and its jobs. */
export interface JobDeps extends ChatBase {
  readonly workspace: Workspace;
  readonly farJobs?: FarJobs;
  /** The workspace's jobs as its history. Absent where they are not kept. */
  readonly openHistory?: () => Promise<WorkspaceHistory>;
  /** The answer of `stats` over these jobs and this usage, for as many days as the words say. */
  readonly figures: (of: FigureScope, days: string) => Promise<Parameters<typeof answerInEveryLanguage>>;
  readonly isCommit: (name: string) => Promise<boolean | null>;
}

export interface StateDeps extends JobDeps {
  readonly sessions: Sessions;
  readonly router: Router;
  readonly queue: ChatQueue;
  readonly steering: Steering;
  readonly meter: Meter;
  /** Runs work that the reply does not wait for; the program ends after it. */
  readonly afterReply: (work: () => Promise<void>) => void;
}

export interface AgentDeps extends JobDeps {
  readonly settings: ConversationSettings;
  /** Whether a coder can be asked: it is configured and has its key. */
  readonly canAsk: (role: CoderRole) => boolean;
  readonly project: ProjectFiles;
  readonly images: ImageStore;
  /** The tools that Shiro may call in one message. Opened late: it loads the toolkit and starts MCP servers. */
  readonly openToolbox: (request: ToolboxRequest) => Promise<Toolbox>;
  readonly namesServers: () => boolean;
  readonly logger: Logger;
  readonly advise: Advise;
}

export interface CoderDeps extends AgentDeps, Pick<ChatCommands, "ownCommands">, Pick<StateDeps, "steering"> {
  /** The files of a draft, as `project` shows those of the workspace. */
  readonly projectOf: (files: WorkspaceFiles) => ProjectFiles;
  /** The parts that the project's checks validate with. */
  readonly checks: {
    readonly settings: CheckSettings;
    readonly memory: CheckMemory;
    readonly hasProgram: (name: string) => boolean;
    /** Absent where only the declared checks may judge. */
    readonly sourceParsers?: () => Promise<SourceParsers>;
  };
  /** Whether a shell script sends something out that cannot be taken back. Loads the parser when it needs it. */
  readonly reachesOutward: (script: string) => Promise<boolean>;
  /** Whether a text parses as what its path says; null where nothing can tell. */
  readonly parsesSource: (path: string, text: string) => boolean | null;
  readonly openProcessTools?: (readOnly: boolean) => Promise<ToolGroup>;
  /** The user's own agents as heads of coders. Absent where none can be. */
  readonly heads?: HeadsDoor;
}

/** Services that only some commands need; each is loaded at its first use. */
export interface ServiceDeps extends JobDeps {
  /** The forges for pull requests. Absent if there are none. */
  readonly openForges?: () => Promise<ProjectForges>;
  readonly openSchedules: () => Promise<ChatSchedules>;
  /** The background processes of the workspace. Absent where there can be none. */
  readonly openProcesses?: () => Promise<WorkspaceProcesses>;
  /** Writes a chat into a file and returns its name; null if the chat has no messages. Absent if there is no folder for it. */
  readonly exportTalk?: (chatKey: string, form: TalkForm) => Promise<string | null>;
  /** Absent where no folder of this machine is the workspace. */
  readonly modelHosts?: () => Promise<ModelHosts>;
  /** Sets whether a cloud model answers questions. Returns why the file was not changed, or null. Absent if there is no file. */
  readonly setCloudTalk?: (to: CloudTalk) => Promise<string | null>;
}

/** The hosts that a person allowed to commands of a model in this workspace, beside those of the settings. */
export interface ModelHosts {
  list(): readonly string[];
  /** False: it is no host. */
  change(entry: string, isAllowed: boolean): boolean;
}

export interface ChatCommands {
  /** By name, those that only look too. */
  readonly commands: Readonly<Record<string, ChatCommand>>;
  /** Read-only commands, which do not wait for running work of their chat. */
  readonly looks: Readonly<Record<string, LookCommand>>;
  /** Commands and skills that the user wrote. */
  readonly ownCommands: OwnCommands;
}

export interface ChatDeps extends CoderDeps, StateDeps, ServiceDeps, ChatCommands {}

export interface HeadsDoor {
  /** `roles.coder.head`: the head that answers if no coder was named; null: a model. */
  readonly standing: HeadName | null;
  /** Loaded when the first is asked for. */
  open(): Promise<Heads>;
}

/** Null: the sentence is not such a command after all, and is routed like any other message. */
export type ChatCommand<Deps = ChatDeps> = (
  deps: Deps,
  turn: ChatTurn,
  rest: string,
) => Promise<Answer | null>;

/** A read-only command: it changes nothing in its chat and makes no job, so it is answered while another message runs. */
export type LookCommand<Deps = ChatDeps> = (deps: Deps, look: LookRequest, rest: string) => Promise<Answer>;

interface ConversationSettings {
  readonly maxLoops: number;
  readonly maxMillis: number;
  readonly defaultCoder: CoderRole;
  /** Why the default coder is asked first, where a comparison on the user's own cases says so. */
  readonly measured: MeasuredOrder | null;
  readonly dryRun: boolean;
  readonly protectedPatterns: readonly string[];
  readonly mcpServers: readonly string[];
  readonly coder: CoderSettings;
}

/** `coder:` of the configuration. */
export interface CoderSettings {
  readonly attempts: number;
  /** Of a small local model. */
  readonly localAttempts: number;
  readonly explore: number;
  readonly onRed: "preview" | "apply" | "discard";
  /** Of model time. */
  readonly maxMinutes: number;
  readonly budgetUsd: number | null;
  readonly candidates: number;
  readonly subAgents: number;
  /** If a coder's draft stays red, the next coder tries. */
  readonly escalate: boolean;
}

/** The provider whose model answers questions beside code; null: questions stay on local models. */
export type CloudTalk = { readonly provider: string; readonly model: string } | null;

export interface ToolboxRequest {
  readonly groupId: string;
  readonly sessionKey: string;
  /** MCP servers to start; all that are configured when absent. */
  readonly servers?: readonly string[];
  /** Servers that the editor passed with the message. */
  readonly editorServers?: readonly McpServerSettings[];
  /** Only tools that a coder may call (`mcp_servers.*.coders`). Default: all. */
  readonly forCoder?: boolean;
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
  /** Servers that could not be started, and why; the others work. */
  readonly unavailable: readonly { readonly server: string; readonly detail: string }[];
  call(
    name: string,
    args: unknown,
    options: {
      readonly signal: AbortSignal;
      readonly onOutput: (text: string) => void;
      /** The result is not cut. */
      readonly whole?: boolean;
    },
  ): Promise<ToolOutcome>;
  close(): Promise<void>;
}

/** Tools of one kind: they read the web, or look after background processes. Every call is reported: its effects cannot be undone. */
export interface ToolGroup {
  readonly tools: readonly ModelTool[];
  /** Null for a tool of another kind. */
  call(name: string, args: unknown, signal: AbortSignal): Promise<ToolOutcome> | null;
}

export interface ToolOutcome {
  readonly ok: boolean;
  /** For the model; masked and capped. */
  readonly text: string;
  readonly jobId?: string;
  /** Set for a tool of an MCP server, whose effects cannot be undone. */
  readonly server?: string;
  /** Set for a read of the web: the host that was asked. */
  readonly web?: string;
  /** Set where a background process was started or ended: its name. */
  readonly process?: string;
}

export function createAnswer(said: readonly ReplyPiece[], ok: boolean, agent = ""): Answer {
  return { said, ok, agent, jobs: [] };
}

export function answerInEveryLanguage(word: (locale: Locale) => string, ok = true): Answer {
  return createAnswer([{ kind: "worded", texts: inEveryLanguage(word) }], ok);
}

export function toReplyModel({ provider, model, local }: NonNullable<Reply["model"]>) {
  return { provider, model, local };
}

/** Names a cloud model that answered on a local route. */
export function cloudNote({ provider, model, local }: NonNullable<Reply["model"]>): ReplyPiece[] {
  return local ? [] : [say("cloudAnswered", `${provider}/${model}`)];
}

export function toReplyUsage({ isUnpriced, costUsd, ...tokens }: ReturnType<MeteredModels["used"]>) {
  return { ...tokens, costUsd: isUnpriced && costUsd === 0 ? null : costUsd };
}

export function toUsedFigures({ inputTokens, outputTokens, costUsd }: ReturnType<MeteredModels["used"]>) {
  return { tokens: inputTokens + outputTokens, costUsd };
}

/** Names the model that replaces a shipped default which is not installed; shown once in a chat's session. */
export function standInNote(
  { insteadOf: wanted, model }: Pick<Model, "insteadOf" | "model">,
  { history }: Pick<ChatTurn, "history">,
): ReplyPiece[] {
  return wanted === undefined || history.length > 0 ? [] : [say("insteadOf", wanted, model)];
}

export function createLabelledAction(
  { chat }: Pick<ChatBase, "chat">,
  word: (chat: ChatMessages) => string,
  message: string,
): JobAction {
  const labels = inEveryLanguage((locale) => word(chatMessagesFor(locale)));
  return { label: word(chat), labels, message };
}

/** The remembered part of a reply: an agent's text and the plan of its work. Journals report jobs; PicoClaw's own wording is not kept. */
export function rememberedWords({ said }: Answer): string {
  return said
    .flatMap((piece) => {
      switch (piece.kind) {
        case "text":
        case "heading":
          return [piece.text];
        case "job":
          return [piece.plan];
        case "coder":
          return [piece.facts.words];
        default:
          return [];
      }
    })
    .filter((words) => words !== "")
    .join("\n");
}

export function createNotice(
  { chat }: Pick<ChatBase, "chat">,
  word: (chat: ChatMessages) => string,
  step?: NoticeEvent["step"],
): NoticeEvent {
  const texts = inEveryLanguage((locale) => word(chatMessagesFor(locale)));
  return { type: "notice", text: word(chat), texts, ...(step !== undefined && { step }) };
}

type NoticeEvent = Extract<ChatEvent, { type: "notice" }>;

/** Answers of several routes become one reply: each under its agent's name, in order of arrival. */
export function mergeAnswers(
  asked: readonly RoutedText[],
  answers: readonly Answer[],
  actions: () => NonNullable<Answer["actions"]>,
): Answer {
  const [only] = answers;
  if (only === undefined) return createAnswer([say("aborted")], false);
  if (answers.length === 1) return only;
  const last = answers.findLast(({ model }) => model !== undefined)?.model;
  const said = answers.flatMap((answer, at): readonly ReplyPiece[] => {
    const route = asked.length === answers.length ? ` · ${asked[at]?.decision.route}` : "";
    return [{ kind: "heading", text: `【${answer.agent}${route}】` }, ...answer.said];
  });
  return {
    said,
    ok: answers.every(({ ok }) => ok),
    // Remembered under the most private agent: Shiro's findings must not enter a cloud coder's history.
    agent: answers.find(({ agent }) => !isCoderAgent(agent))?.agent ?? only.agent,
    jobs: answers.flatMap(({ jobs }) => jobs),
    ...(last !== undefined && { model: last }),
    actions: actions(),
  };
}
