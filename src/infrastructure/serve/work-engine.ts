import type { Kysely } from "kysely";
import type { ClaimRequest, NewWork } from "../../application/ports/serve.ts";
import type { Database, StoreTransaction } from "../store/schema.ts";

export interface HeldClaim {
  readonly id: string;
  readonly queue: string;
  readonly fence: number;
}

export interface FetchedWork extends NewWork {
  readonly fence: number;
}

/** PicoClaw's table in SQLite, pg-boss in Postgres. Each call is part of a transaction, each end names its claim. */
export interface WorkEngine {
  /** False when there is surely nothing to claim, so that no transaction is begun for it. */
  mayHave(db: Kysely<Database>, request: ClaimRequest): Promise<boolean>;
  /** Whether work of this queue waits to be claimed. */
  waitsIn(db: Kysely<Database>, queue: string): Promise<boolean>;
  /** Whether anything waits in a queue that this process claims from, or in one of these kinds that it does not know yet. */
  waits(db: Kysely<Database>, kinds: readonly string[]): Promise<boolean>;
  insert(within: StoreTransaction, work: readonly NewWork[]): Promise<void>;
  fetch(within: StoreTransaction, request: ClaimRequest): Promise<FetchedWork | null>;
  /** False when the claim is not held any more. */
  complete(within: StoreTransaction, held: HeldClaim): Promise<boolean>;
  release(within: StoreTransaction, held: HeldClaim): Promise<boolean>;
  /** Calls back when another process added work, with its queue; without one where that is not known. */
  listen(callback: (queue?: string) => void): () => void;
  /** Tells the listeners of this queue in every process, once the transaction is done. */
  notify(within: StoreTransaction, queue: string): Promise<void>;
  close(): Promise<void>;
}
