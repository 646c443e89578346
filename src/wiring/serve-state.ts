import type { Kysely } from "kysely";
import type { FarJobs } from "../application/ports/chat.ts";
import type { FleetStore, ProcessKind } from "../application/ports/fleet.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import type { AccessStore, MessageStore, WorkQueue } from "../application/ports/serve.ts";
import type { Bus } from "../application/serve/serve-events.ts";
import type { ReloadableChat } from "../application/serve/server.ts";
import type { CommitGuard } from "../application/serve/take-work.ts";
import type { ServeMessages } from "../domain/texts/serve.ts";
import type { OwnerNames } from "../infrastructure/platform/process-table.ts";
import type { Database, StoreTransaction } from "../infrastructure/store/schema.ts";
import type { Services } from "./services.ts";
import type { Telemetry } from "./telemetry.ts";

/** The deps of a process that answers the messages of a server beside it. */
export interface HandDeps {
  /** The embedded store of the front; undefined where the store is shared by itself. */
  readonly lentStore: (services: Pick<Services, "databaseUrl">) => Kysely<Database> | undefined;
  readonly noteCall: (call: ModelCall) => void;
  readonly noteReplies: () => void;
  readonly listen: (bus: Bus) => void;
  /** Given once it works. */
  readonly take: (answering: { look(): void; cancel(messageId: string): boolean }) => void;
}

export interface ListenDeps {
  /** As they were at the start: address, limits. */
  readonly services: Services;
  readonly demo: boolean;
  readonly db: Kysely<Database>;
  readonly state: ReloadableChat;
  readonly access: AccessStore;
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
  /** Null in a process of its own right. */
  readonly hand: HandDeps | null;
}

/** The same once it is known where it listens and who hears of troubles. */
export interface ServeDeps extends ListenDeps {
  readonly store: MessageStore;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly fleet: FleetStore;
  readonly newWorkId: () => string;
  readonly startedAt: Date;
  /** Messages at once. */
  readonly lanes: number;
  /** Without a slash at its end; null if it is not configured. */
  readonly publicUrl: string | null;
  readonly log: (text: string) => void;
  readonly onTrouble: (error: unknown, place?: string) => void;
  readonly uncaught: { readonly count: number };
  readonly kind: ProcessKind;
}

export const randomBytes = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
