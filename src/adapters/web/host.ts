import type { ViewerJobs } from "../../application/fleet/viewer-jobs.ts";
import type { SeenInJob, Why } from "../../application/history/find-why.ts";
import type { ImageStore, OwnCommand, TalkForm } from "../../application/ports/chat.ts";
import type { FleetControl } from "../../application/ports/fleet.ts";
import type { WorkFigures } from "../../application/ports/history-opened.ts";
import type { Webhook } from "../../application/ports/platform.ts";
import type {
  AccessStore,
  Channel,
  HealthReport,
  MessageStore,
  Receive,
  StoredMessage,
} from "../../application/ports/serve.ts";
import type { ConsoleSources, SettingsStore } from "../../application/ports/web.ts";
import type { Viewer } from "../../application/serve/access.ts";
import type { Bus, LiveWorks } from "../../application/serve/serve-events.ts";
import type { SetUpSteps } from "../../application/setup/setup-steps.ts";
import type { OwnChats, WaitForAnswer, WatchChat } from "../../application/web/console-chats.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { Locale } from "../../domain/texts/locale.ts";

/** The services that the web server needs; wired in `src/wiring/serve.ts`. */
export interface WebHost {
  readonly version: string;
  readonly demo: boolean;
  readonly startedAt: Date;
  readonly viewerJobs: ViewerJobs;
  readonly messages: MessageStore;
  readonly access: AccessStore;
  readonly receive: Receive;
  readonly images: () => Pick<ImageStore, "load">;
  readonly ownChats: OwnChats;
  /** Stops the answering of a message, in any process; false if it is not being answered. */
  readonly stopMessage: (message: StoredMessage) => Promise<boolean>;
  readonly bus: Bus;
  readonly live: Pick<LiveWorks, "of">;
  readonly watchChat: WatchChat;
  readonly waitForAnswer: WaitForAnswer;
  /** A chat as the text of one file; null: nothing was said in it. */
  readonly exportTalk: (chatKey: string, form: TalkForm, locale: Locale) => Promise<string | null>;
  /** Who wrote a line that a job's difference shows, and the text that it is counted in. */
  readonly findWhy: (path: string, line: number, seen: SeenInJob) => Promise<FoundWhy>;
  /** The editor that runs on this machine, by the scheme of its addresses. */
  readonly runningEditor: () => string | null;
  /** The usage and the jobs that are the viewer's to see. */
  readonly readFigures: (viewer: Viewer, days: number) => Promise<WorkFigures>;
  readonly fleet: FleetControl;
  readonly sources: () => ConsoleSources;
  readonly health: () => Promise<HealthReport>;
  readonly configuration: () => Promise<readonly ConfigLine[]>;
  readonly settings: SettingsStore;
  readonly ownCommands: () => readonly Pick<OwnCommand, "name" | "description">[];
  /** Paths of the project's files, as they were a moment ago. */
  readonly listFiles: () => readonly string[];
  readonly setUp: {
    /** No model is configured, and there is no file. */
    readonly isNeeded: () => Promise<boolean>;
    readonly steps: SetUpSteps;
  };
  readonly metrics: () => Promise<string>;
  readonly messagesFor: (locale: Locale) => Messages;
  readonly workspace: () => string;
  readonly locale: () => Locale;
  readonly mask: (text: string) => string;
  /** The session's time zone, used where no other is named. */
  readonly timezone: () => string;
  readonly place: () => ServerAddress;
  readonly sha256: (text: string) => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
  readonly onTrouble: (error: unknown, path: string) => void;
  /** The MCP endpoint; loaded at its first request. */
  readonly mcp: () => Promise<(request: Request) => Promise<Response>>;
  /** Where services post to, by what follows `/webhooks/`. */
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Aborted when the server stops: streams end. */
  readonly closing: AbortSignal;
}

export interface FoundWhy {
  readonly why: Why;
  readonly lines: readonly string[];
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** Without a slash at its end; null if it is not configured. */
  readonly publicUrl: string | null;
}

export interface ConfigLine {
  readonly key: string;
  /** As this process has it. */
  readonly value: string;
  readonly source: string | null;
  /** The value in the file, if it is not in effect yet. */
  readonly next?: string;
}

/** The console as a channel. A stored reply is delivered: pages read it from the store, and hear of it over the bus. */
export function createWebChannel(): Channel {
  return {
    name: "web",
    isReadFromStore: true,
    deliver: async () => ({ status: "sent" }),
    wasDelivered: async () => true,
    check: async () => ({ ok: true, detail: "console" }),
    close: async () => {},
  };
}
