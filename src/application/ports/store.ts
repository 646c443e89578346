import type { StoreTrouble } from "../../domain/store/store-trouble.ts";

export interface StoreData {
  /** Writes everything into a new folder, as it is at one moment, while others continue to work. */
  backup(folder: string): Promise<BackupResult>;
  /** Fills this installation's empty store from such a folder. */
  restore(folder: string): Promise<FillResult>;
  /** Fills the empty Postgres at an address from this installation's store. */
  copyTo(databaseUrl: string): Promise<FillResult>;
  /** Deletes one person's messages, the answers to them, and the identity. */
  forget(person: { readonly channel: string; readonly userId: string }): Promise<number>;
  close(): Promise<void>;
}

type BackupResult =
  | {
      readonly status: "made";
      readonly rows: number;
      /** Where each workspace keeps journals and undo data: they are not in the folder. */
      readonly undoData: readonly string[];
    }
  | { readonly status: "exists" };

export type FillResult =
  | { readonly status: "filled"; readonly rows: number }
  /** Nothing was written: this table has rows already. */
  | { readonly status: "in-use"; readonly table: string }
  /** Nothing was kept: the rows read back differ from those written. */
  | { readonly status: "unequal"; readonly table: string }
  /** The store that was to be filled cannot be opened. */
  | { readonly status: "not-opened"; readonly trouble: StoreTrouble }
  /** It is not a backup, or one of its files was modified. */
  | { readonly status: "damaged"; readonly file: string }
  | { readonly status: "other-version"; readonly version: string };
