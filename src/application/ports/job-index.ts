import type { JobArchive, StoredJob } from "./jobs.ts";

/**
 * A searchable index of the jobs of all workspaces, their journal events and groups. It holds nothing that the job
 * folders do not hold: a lost or corrupt index is rebuilt from them, and no undo depends on it.
 * Several processes may read and write at once.
 */
export interface JobIndex {
  /** Brings the index up to date with one workspace's folders. Idempotent. */
  sync(archive: JobArchive): Promise<{ added: number; updated: number }>;
  /** Newest first. */
  jobs(filter: JobFilter): Promise<IndexedJob[]>;
  groups(filter: { workspace?: string; limit: number }): Promise<IndexedGroup[]>;
  events(jobId: string): Promise<{ at: string; type: string; body: unknown }[]>;
  status(): Promise<{ applied: string[]; pending: string[]; jobs: number }>;
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

/** The index of one installation with every workspace that it knows. */
export interface AllJobs extends JobIndex {
  /** Brings the index up to date with the folders of all workspaces. */
  syncAll(): Promise<void>;
}

export interface JobFilter {
  readonly workspace?: string;
  readonly groupId?: string;
  readonly limit: number;
}

export type IndexedJob = Omit<StoredJob, "changes" | "notes"> & { readonly changeCount: number };

export interface IndexedGroup {
  readonly groupId: string;
  readonly workspace: string;
  readonly jobs: number;
  readonly firstAt: string;
  readonly lastAt: string;
}
