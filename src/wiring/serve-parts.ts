import type { Kysely } from "kysely";
import type { FarJobs } from "../application/chat/far-jobs.ts";
import type { CommitGuard } from "../application/serve/commit-guard.ts";
import type { AccessStore } from "../application/ports/access.ts";
import type { FleetStore } from "../application/ports/fleet.ts";
import type { MessageStore } from "../application/ports/serve.ts";
import type { OpenOptions } from "../application/ports/opening.ts";
import type { WorkQueue } from "../application/ports/work-queue.ts";
import type { Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import type { ServeMessages } from "../domain/texts/texts.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import type { OwnerNames } from "../infrastructure/engine/owner-name.ts";
import type { OpenedState } from "./serve-state.ts";
import type { Telemetry } from "./telemetry.ts";

/** What `serve` has opened before it listens. */
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
