import type { McpServerSettings } from "../../domain/chat/mcp-servers.ts";
import type { OwnCommandText } from "../../domain/chat/message-commands.ts";
import type { Decision, Route } from "../../domain/config/configured-kinds.ts";
import type { JobStatus } from "../../domain/jobs/result.ts";
import type { ImageTrouble } from "../../domain/platform/image.ts";
import type { AgentFacts, CoderProgress } from "../../domain/texts/en/coder.ts";
import type { ResultJson } from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import type { ReplyPiece } from "../chat/reply-words.ts";
import type { ActionFacts, JobAction } from "../jobs/action-report.ts";
import type { FileDifference, StoredJob } from "./jobs.ts";
import type { ModelChoiceOfRole, ModelImage, ModelRole } from "./models.ts";

export type { Decision, Route } from "../../domain/config/configured-kinds.ts";

/** The chat as channels see it. Messages of one chat are answered in order. `handle` never rejects: a failure is in the reply. */
export interface Conversation {
  handle(message: IncomingMessage, options: HandleOptions): Promise<Reply>;
  /** Whether a message must not wait for its turn: it only reads, or is about the chat's running work. `handle` answers it. */
  interrupts(message: Pick<IncomingMessage, "channel" | "chatId" | "text" | "images">): boolean;
  /** Passes words to the coder at work: true once it has them, false if it ended or was aborted. Null: no coder, a command, images. */
  steer(
    message: Pick<IncomingMessage, "channel" | "chatId" | "text" | "images">,
    signal: AbortSignal,
  ): Promise<boolean> | null;
  /** Whether a message is answered without a model: a command that reads, undoes or sets something. */
  needsNoModel(text: string): boolean;
}

export interface IncomingMessage {
  /** The channel's own id; it becomes the group of the message's jobs, so that after a crash it is known whether it changed anything. */
  readonly id?: string;
  /** `cli`, `web`, `acp`, or the name of a channel. */
  readonly channel: string;
  /** Together with the channel, the key of the session: `slack` + `C1:1700000000.1`. */
  readonly chatId: string;
  readonly userId: string;
  /** The id of the token by which a program wrote, if by one. */
  readonly token?: string | undefined;
  readonly text: string;
  /** Shown to the model that answers; a message of images alone needs no text. */
  readonly images?: readonly MessageImage[];
  /** MCP servers of the editor, for this message's tools. */
  readonly editorServers?: readonly McpServerSettings[];
  /** A route that replaces rules and classifier; an explicit command still wins unless `strict`. */
  readonly forcedRoute?: Route;
  readonly strict?: boolean;
  /** The trace that it belongs to, for the log. */
  readonly traceparent?: string;
  /** When it was sent, in ISO form; absent: now. It may have waited behind others since. */
  readonly sentAt?: string;
}

/** `<channel>:<chatId>`: a channel's name has no colon, so two chats never share a key. */
export function chatKeyOf(channel: string, chatId: string): string {
  return `${channel}:${chatId}`;
}

export function readChatKey(key: string): { readonly channel: string; readonly chatId: string } {
  const at = key.indexOf(":");
  return { channel: key.slice(0, at), chatId: key.slice(at + 1) };
}

export interface MessageImage {
  readonly id: string;
  readonly name: string;
}

/** Images attached to messages. Looked up by the chat's key only, so that no chat sees another's. */
export interface ImageStore {
  /** Stores the images of one message, all of them or, where one cannot be shown to a model, none. */
  keep(chatKey: string, files: readonly ImageFile[]): Promise<KeptImages>;
  /** Records the message that they belong to, so that later messages of the chat find them. */
  attach(chatKey: string, ids: readonly string[], groupId: string): Promise<void>;
  /** In the order of the ids; one that is gone is left out. */
  load(chatKey: string, ids: readonly string[]): Promise<readonly LoadedImage[]>;
  /** A text that was sent as a file; its length is limited. */
  keepText(chatKey: string, text: string): Promise<StoredText>;
  /** Null if it is no longer kept. */
  loadText(chatKey: string, stored: StoredText): Promise<string | null>;
  /** Images of earlier messages, the newest last, at most this many. */
  ofGroups(chatKey: string, groupIds: readonly string[], limit: number): Promise<readonly RecalledImage[]>;
}

export interface StoredText {
  readonly id: string;
  readonly pieces: number;
}

export interface ImageFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export type KeptImages =
  | { readonly ok: true; readonly images: readonly MessageImage[] }
  | { readonly ok: false; readonly trouble: ImageTrouble };

export interface LoadedImage extends ModelImage, MessageImage {}

export interface RecalledImage extends LoadedImage {
  readonly groupId: string;
}

export interface HandleOptions {
  readonly signal: AbortSignal;
  /** As it happens, for progress and streaming; must not throw. */
  readonly onEvent?: (event: ChatEvent) => void;
  /** Whether a coder's answer is streamed (`drafting`). Default: no, because it is many events. */
  readonly tellsDrafts?: boolean;
  /** The work under which a server answers the message. Absent: the conversation begins the work itself. */
  readonly claim?: MessageClaim;
}

export interface MessageClaim {
  readonly id: string;
  /** The unit that is done in order: the chat, or the message alone when it does not wait for its turn. */
  readonly key: string;
  readonly fence: number;
}

export interface PlanStep {
  readonly text: string;
  readonly state: "open" | "now" | "done" | "failed";
}

/** The domain events of one message, also the lines of `chat --events`. */
export type ChatEvent =
  | { readonly type: "queued"; readonly ahead: number }
  | { readonly type: "decided"; readonly decision: Decision }
  | {
      readonly type: "thinking";
      readonly agent: Agent;
      readonly provider: string;
      readonly model: string;
      readonly local: boolean;
    }
  | { readonly type: "text"; readonly agent: Agent; readonly text: string }
  /** A coder writes its answer: new words of its plan, and the lines of its patch so far. */
  | { readonly type: "drafting"; readonly agent: Agent; readonly text: string; readonly lines: number }
  | {
      readonly type: "tool";
      readonly name: string;
      readonly state: "started" | "succeeded" | "failed";
      readonly note?: string;
    }
  | {
      readonly type: "proposed";
      /** The coder that it is about, if several work. */
      readonly agent?: Agent;
      readonly plan: string;
      readonly commands: number;
      readonly risk?: "low" | "medium" | "high";
      readonly files?: readonly string[];
    }
  /** The steps of a coder's plan, and the progress of the work; sent again whenever that changes. */
  | { readonly type: "steps"; readonly steps: readonly PlanStep[] }
  /** A coder at work: its attempt, its activity, and the usage of the message so far. */
  | ({ readonly type: "progress" } & CoderProgress)
  /** A sub-agent of the coder: it began, it changed its activity, or it ended. */
  | ({
      readonly type: "agent";
      readonly jobId: string;
      readonly tokens: number;
      readonly costUsd: number;
    } & AgentFacts)
  | { readonly type: "job-started"; readonly jobId: string }
  /** `index` counts from 1; `command` is one line: `shell_command run npm test`. */
  | {
      readonly type: "job-command";
      readonly jobId: string;
      readonly index: number;
      readonly command: string;
    }
  | { readonly type: "job-output"; readonly jobId: string; readonly text: string }
  | { readonly type: "job-finished"; readonly jobId: string; readonly success: boolean }
  | { readonly type: "undone"; readonly jobIds: readonly string[] }
  | { readonly type: "cut-over"; readonly sessionId: string }
  /** May follow the reply, as of a hook that ran after it and failed. `texts`: in each language. `step`: the same for a list of steps. */
  | {
      readonly type: "notice";
      readonly text: string;
      readonly texts?: WordsByLocale;
      readonly step?: {
        readonly kind: "read" | "search" | "run" | "call" | "retry";
        readonly detail: string;
      };
    };

export type Agent = "Mio" | "Shiro" | "Aka" | "Ao" | "Gin";

export interface Reply {
  /** The text to show, in the user's language, Markdown at most. */
  readonly text: string;
  /** The text's content as facts; `wordReply` words it for another reader. Absent in replies of older versions. */
  readonly said?: readonly ReplyPiece[];
  readonly ok: boolean;
  /** The right to the chat was lost, or the message was not begun: it may be begun again. */
  readonly lost?: true;
  readonly sessionId: string;
  readonly groupId?: string;
  readonly decision?: Decision;
  readonly jobs: readonly ResultJson[];
  /** A job that was ended under this message before it had a result; nothing of it is applied. */
  readonly brokenJob?: string;
  readonly usage?: ReplyUsage;
  /** The model that answered, for the footer; cloud answers on local routes must say so. */
  readonly model?: { readonly provider: string; readonly model: string; readonly local: boolean };
  /** Buttons: each is a message. One about jobs names them (`/undo job_…`), so that a later view can ask for their state. */
  readonly actions: readonly JobAction[];
  /** The entries of a command's list, for a surface that has lists to choose from; the text names all of them for the others. */
  readonly choices?: readonly ReplyChoice[];
}

export interface ReplyChoice {
  readonly label: string;
  readonly description: string;
  readonly message: string;
}

/**
 * A chat's sessions, turns, notes and settings, found by its key alone, so that no chat sees another's. Several processes may use it.
 * An unreadable row neither is returned nor throws: it is left out and counted as `damaged`.
 */
export interface SessionStore {
  /** The open session of a chat; null when there is none, or no readable one. */
  current(chatKey: string): Promise<{ readonly session: Session | null; readonly damaged: number }>;
  find(chatKey: string, sessionId: string): Promise<Session | null>;
  /** Newest first, the open one too. */
  list(chatKey: string, limit: number): Promise<Session[]>;
  /** Open sessions whose time has come, oldest first. */
  due(now: Date, limit: number): Promise<Session[]>;
  /**
   * Opens a session and closes `from` in one step, or does nothing: `moved`, another than `from` is open; `taken`, the id exists.
   * An unreadable open session is closed regardless of `from`.
   */
  open(next: NewSession, from: string | null): Promise<"opened" | "moved" | "taken">;
  /** Closes `from` and opens the older one again; the turns of `from` move to its end. False: nothing was done. */
  reopen(chatKey: string, sessionId: string, from: string, cut: CutTime): Promise<boolean>;
  setCut(chatKey: string, sessionId: string, cut: CutTime): Promise<void>;

  append(chatKey: string, sessionId: string, turns: readonly NewTurn[]): Promise<void>;
  /** In order, from position `after` on (exclusive; 0 is the beginning). */
  turns(
    chatKey: string,
    sessionId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly turns: Turn[]; readonly damaged: number }>;
  /** In order. */
  lastTurns(
    chatKey: string,
    sessionId: string,
    limit: number,
    after: number,
  ): Promise<{ readonly turns: Turn[]; readonly damaged: number }>;
  /** Changes nothing if the stored summary covers more turns. */
  saveSummary(chatKey: string, sessionId: string, summary: Summary): Promise<void>;

  /** One note a session; saving it again replaces it. */
  saveNote(note: DailyNote): Promise<void>;
  note(chatKey: string, sessionId: string): Promise<DailyNote | null>;
  /** Newest first. */
  notes(chatKey: string, limit: number): Promise<DailyNote[]>;
  /** False if there is no such note. */
  removeNote(chatKey: string, sessionId: string): Promise<boolean>;
  /** Forgets the note that a session carries from before, and its running summary; its turns stay. */
  clearSummary(chatKey: string, sessionId: string): Promise<void>;

  /** Moves the turns after a position out, under `name`; a summary that covers one is forgotten. Positions are never reused. */
  setAside(chatKey: string, sessionId: string, after: number, name: string): Promise<void>;
  putBack(chatKey: string, sessionId: string, name: string): Promise<void>;

  settings(chatKey: string): Promise<ChatSettings>;
  saveSettings(chatKey: string, change: Partial<ChatSettings>): Promise<void>;
}

export interface Session {
  /** `<channel>:<chatId>`. */
  readonly chatKey: string;
  /** `YYYYMMDD-<channel>-<chatId>`, the second of a day with `.2` at its end. */
  readonly id: string;
  readonly channel: string;
  readonly chatId: string;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly cut: CutTime;
  readonly carried: string;
  readonly summary: Summary;
  /** How many turns it has: the position of the last one. */
  readonly turns: number;
}

export type NewSession = Omit<Session, "closedAt" | "summary" | "turns">;

/** When a session ends, and by which clock that was computed (`Asia/Tokyo 00:00`). */
interface CutTime {
  readonly at: string;
  readonly clock: string;
}

interface Summary {
  readonly text: string;
  readonly upTo: number;
}

export interface NewTurn {
  readonly at: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** The speaker: `Mio`, `Gin`; empty for the user. */
  readonly agent: string;
  readonly groupId: string | null;
}

export interface Turn extends NewTurn {
  /** From 1. */
  readonly position: number;
}

export interface DailyNote {
  readonly chatKey: string;
  readonly sessionId: string;
  readonly text: string;
  readonly turns: number;
  readonly savedAt: string;
}

/** Its texts and files are masked. */
export interface TalkDocument {
  readonly title: string;
  readonly locale: Locale;
  readonly turns: readonly {
    readonly who: string;
    readonly role: "user" | "assistant";
    readonly at: string;
    readonly text: string;
    readonly jobs: readonly TalkJob[];
  }[];
}

export interface TalkJob {
  readonly name: string;
  readonly title: string;
  readonly status: JobStatus;
  readonly verdict: string;
  /** The coder and its plan, the result of the checks, and the cost. */
  readonly facts: readonly string[];
  readonly differences: () => Iterable<FileDifference>;
}

export type TalkForm = "md" | "html";

export interface ChatSettings {
  /** `/dry on`: jobs are listed, not run. */
  readonly dry: boolean;
  readonly memory: Readonly<Record<string, SessionMemory>>;
  /** The turns that `/rewind` undid, the last one last. */
  readonly rewound: readonly Rewound[];
  /** `/model` and `/effort`: the chat's choices for its roles. */
  readonly models: Readonly<Partial<Record<ModelRole, ModelChoiceOfRole>>>;
}

/** Turns that were set aside, and the jobs that were swapped with them, in that order. */
export interface Rewound {
  readonly sessionId: string;
  readonly name: string;
  readonly jobIds: readonly string[];
  /** Those of them that were applied again; the others were undone. */
  readonly again: readonly string[];
}

export interface ReplyUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of `inputTokens`, those that a provider read from its cache; absent in replies that were kept before. */
  readonly cachedTokens?: number;
  /** Of the last request and its answer; absent as above. */
  readonly contextTokens?: number;
  /** Null: the model's price is unknown. */
  readonly costUsd: number | null;
}

export type SessionMemory = Readonly<Record<string, string>>;

/** The chats of one channel, for the person who writes there. */
export interface NamedChats {
  /** Those of every workspace, the one that was used last first. */
  list(): Promise<readonly NamedChat[]>;
  /** Forgets the messages of a chat here; jobs and usage stay. `busy`: its running answer did not end in time. */
  forget(name: string): Promise<"forgotten" | "unknown" | "busy">;
}

export interface NamedChat {
  readonly name: string;
  readonly workspace: string;
  /** Whether it is a chat of the workspace that is open. */
  readonly here: boolean;
  readonly messages: number;
  readonly lastAt: string;
  readonly lastText: string;
}

/** Every decision, and the rules that a chat's user taught. Looked up by the chat's key only. */
export interface RoutingStore {
  record(decision: NewDecision): Promise<void>;
  last(chatKey: string): Promise<StoredDecision | null>;
  correct(chatKey: string, decisionId: string, correction: Correction): Promise<void>;

  /** Newest first; one that cannot be read is left out. */
  rules(chatKey: string): Promise<LearnedRule[]>;
  /** A rule with the same pattern is replaced. */
  addRule(rule: LearnedRule): Promise<void>;
  removeRule(chatKey: string, pattern: string): Promise<boolean>;
}

export interface NewDecision extends Decision {
  readonly id: string;
  readonly chatKey: string;
  readonly sessionId: string;
  readonly at: string;
  /** The message's beginning, secrets masked. */
  readonly message: string;
}

export interface StoredDecision extends NewDecision {
  readonly correction: Correction | null;
}

interface Correction {
  readonly route: Route;
  /** A rule that was offered and awaits confirmation; null once that is answered, or if none could be made. */
  readonly offered: string | null;
}

export interface LearnedRule {
  readonly chatKey: string;
  readonly pattern: string;
  readonly route: Route;
  readonly confidence: number;
  readonly example: string;
  readonly learnedAt: string;
}

/** Messages that are posted to chats of a workspace at set times, by whichever server runs. */
export interface ChatSchedules {
  readonly timezone: string;
  /** Those that were made in chats, in their order, then those of the configuration. */
  list(): Promise<readonly ChatSchedule[]>;
  /** `never`: the rule is not valid, or has no future time. */
  add(schedule: NewChatSchedule): Promise<ChatSchedule | "never" | "too-many">;
  enable(number: number, enabled: boolean): Promise<void>;
  remove(number: number): Promise<void>;
  /** Records that a person started it now. */
  noteRun(name: string, messageId: string | null): Promise<void>;
  /** Newest first. */
  runs(name: string, limit: number): Promise<readonly ScheduleRun[]>;
  /** Whether a server runs that posts them. */
  isServed(): boolean;
}

export interface NewChatSchedule {
  readonly channel: string;
  readonly chatId: string;
  readonly userId: string;
  /** The id of the token by which it is made, if by one: with the token it ends. */
  readonly token?: string | undefined;
  readonly cron: string;
  readonly message: string;
}

export interface ChatSchedule extends NewChatSchedule {
  readonly name: string;
  /** Null for one of the configuration. */
  readonly number: number | null;
  readonly timezone: string;
  readonly isEnabled: boolean;
  /** In ISO form; null while it is paused, or where there is none. */
  readonly nextAt: string | null;
}

export interface ScheduleRun {
  readonly at: string;
  /** A user started it; otherwise it was due. */
  readonly isAsked: boolean;
  /** `unknown`: not kept, or answered where no server kept it. */
  readonly outcome: "waits" | "answered" | "failed" | "unknown";
}

/** A command that a user wrote: `commands/NAME.md`, or a skill, `skills/NAME/SKILL.md`. */
export interface OwnCommand extends OwnCommandText {
  /** Lower case, without the slash. */
  readonly name: string;
  readonly kind: "command" | "skill";
  readonly from: "workspace" | "home";
}

/**
 * The user's own commands, the workspace's before the home's; in an untrusted folder they are only named. They are read on request; a
 * file that cannot be read, is too large or is behind a link is ignored.
 */
export interface OwnCommands {
  list(): readonly OwnCommand[];
  find(name: string): OwnCommand | "untrusted" | null;
  /** A file beside the skill of this name, by its path there; null if it is not one, or not trusted. */
  readBeside(skill: string, path: string): string | null;
}

/**
 * The right to work on a chat, among all processes of a store: a mark on one claim of work with the chat's key, a server's message or a
 * process's own work, which no server claims. It ends with the work or the process. Exclusion is strict; order is by the time of asking.
 */
export interface ChatTurns {
  /** Names work of this chat: the message's own where that has the chat's key, otherwise new work. */
  name(chatKey: string, claim?: MessageClaim): TurnClaim;
  /** Begins the work. True when it has the turn; otherwise it waits in the line. */
  begin(claim: TurnClaim): Promise<boolean>;
  /** Takes the turn if it is free and no live work is before this in the line. */
  take(claim: TurnClaim): Promise<{ readonly taken: boolean; readonly ahead: number }>;
  /** Reports that this process is alive; a process that has a turn or waits for one calls it often. */
  beat(): Promise<void>;
  /** `held` is false when the turn was lost; `stop` when a stop was requested. */
  look(claim: TurnClaim): Promise<{ readonly held: boolean; readonly stop: boolean }>;
  /** Ends work that was begun here. The turn of a message ends when its server ends the message. */
  end(claim: TurnClaim): Promise<void>;
  /** Asks the holder to stop; false if no process works on the chat. */
  requestStop(chatKey: string): Promise<boolean>;
}

export interface TurnClaim {
  readonly chatKey: string;
  readonly id: string;
  readonly fence: number;
  /** The process began the work for itself; otherwise a server claimed it. */
  readonly isOwn: boolean;
}

/** Jobs that other machines hold. Null if there is none with this id, or the asker may not see it. */
export type FarJobs = (
  asker: { readonly channel: string; readonly userId: string },
  jobId: string,
) => Promise<FarJob | null>;

export interface FarJob {
  readonly job: StoredJob;
  readonly machine: string;
  act(action: "undo" | "redo" | "apply" | "discard", force?: boolean): Promise<ActionFacts>;
  /** Null: the machine does not answer. */
  differences(): Promise<Iterable<FileDifference> | null>;
}
