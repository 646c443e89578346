/** Packages that were fetched before, on this machine and out of every container's reach. */
export interface DownloadStore {
  has(key: string): boolean;
  /** Read once, piece by piece; counts as a use. */
  read(key: string): AsyncIterable<Uint8Array>;
  /** Nothing is there under the key until it is kept. */
  create(key: string): NewDownload;
}

export interface NewDownload {
  write(bytes: Uint8Array): void;
  /** Makes it visible at once, and drops the oldest of the others past the limit. */
  keep(): void;
  /** Forgets it. Idempotent, and nothing after `keep`. */
  drop(): void;
}
