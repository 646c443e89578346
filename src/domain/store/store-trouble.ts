/** Why the store cannot be opened. */
export interface StoreTrouble {
  readonly kind: "sqlite" | "postgres";
  /** The file, or the address without a password. */
  readonly name: string;
  readonly detail: string;
  /** The file is there and is no store, or no longer one. */
  readonly damaged: boolean;
  /** A later version of PicoClaw has changed its tables. */
  readonly newer: boolean;
  /** A version before the first release made its tables. */
  readonly older: boolean;
  /** The server is there, and does not show the certificate that was asked for. */
  readonly distrusted: boolean;
}

export interface NewerSchema {
  /** This version can work on with. */
  readonly added: readonly string[];
  /** It cannot. */
  readonly breaking: readonly string[];
}
