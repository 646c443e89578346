import type { Bus } from "../../application/serve/bus.ts";
import type { HealthReport } from "../../application/serve/inbox-health.ts";
import type { LiveWorks } from "../../application/serve/serve-events.ts";
import type { OwnChats } from "../../application/serve/own-chats.ts";
import type { ViewerJobs } from "../../application/fleet/viewer-jobs.ts";
import type { WaitForAnswer } from "../../application/serve/wait-for-answer.ts";
import type { WatchChat } from "../../application/serve/console-chats.ts";
import type { AccessStore } from "../../application/ports/access.ts";
import type { Receive, StoredMessage } from "../../application/ports/channel.ts";
import type { ConsoleSources } from "../../application/ports/web.ts";
import type { FleetControl } from "../../application/ports/fleet.ts";
import type { MessageStore } from "../../application/ports/serve.ts";
import type { OwnCommand } from "../../application/ports/own-commands.ts";
import type { SettingsStore } from "../../application/ports/settings.ts";
import type { Webhook } from "../../application/ports/webhook.ts";
import type { SetUpSteps } from "../../application/setup/setup-steps.ts";
import type { Locale, Messages } from "../../domain/texts/messages.ts";

/** What the web server needs of the house; wired in `src/wiring/serve.ts`. */
export interface WebHost {
  readonly version: string;
  readonly demo: boolean;
  readonly startedAt: Date;
  readonly viewerJobs: ViewerJobs;
  readonly messages: MessageStore;
  readonly access: AccessStore;
  readonly receive: Receive;
  readonly ownChats: OwnChats;
  /** Ends the answering of a message, in whichever process; false when nobody answers it. */
  readonly stopMessage: (message: StoredMessage) => Promise<boolean>;
  readonly bus: Bus;
  /** Messages that are being answered. */
  readonly live: Pick<LiveWorks, "of">;
  /** Tells of what other processes do in a chat. */
  readonly watchChat: WatchChat;
  readonly waitForAnswer: WaitForAnswer;
  readonly fleet: FleetControl;
  readonly sources: () => ConsoleSources;
  readonly health: () => Promise<HealthReport>;
  /** The effective configuration, secrets masked. */
  readonly configuration: () => Promise<readonly ConfigLine[]>;
  readonly settings: SettingsStore;
  /** Commands that the user wrote. */
  readonly ownCommands: () => readonly Pick<OwnCommand, "name" | "description">[];
  /** The first configuration. */
  readonly setUp: {
    /** Nobody has configured a model, and there is no file. */
    readonly isNeeded: () => Promise<boolean>;
    readonly steps: SetUpSteps;
  };
  readonly metrics: () => Promise<string>;
  readonly messagesFor: (locale: Locale) => Messages;
  readonly workspace: () => string;
  readonly locale: () => Locale;
  readonly mask: (text: string) => string;
  /** Day of the session's time zone, `2026-03-01`. */
  readonly dayOf: (at: Date) => string;
  /** The session's: whose days and times are meant where nobody says another. */
  readonly timezone: () => string;
  readonly place: () => ServerAddress;
  readonly sha256: (text: string) => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
  readonly onTrouble: (error: unknown, path: string) => void;
  /** Whether an error says that the store cannot be reached now. */
  readonly isStoreAway: (error: unknown) => boolean;
  /** The MCP endpoint; loaded at its first request. */
  readonly mcp: () => Promise<(request: Request) => Promise<Response>>;
  /** Where services post to, by what follows `/webhooks/`. */
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Aborted when the server stops: streams end. */
  readonly closing: AbortSignal;
}

/** Where this server is reached. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** Without a slash at its end; null when nobody named it. */
  readonly publicUrl: string | null;
}

export interface ConfigLine {
  readonly key: string;
  readonly value: string;
  readonly source: string | null;
}
