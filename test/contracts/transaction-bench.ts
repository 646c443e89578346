import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Transaction, Transactions } from "../../src/application/ports/jobs-transaction.ts";
import type { View } from "../../src/application/ports/platform-view.ts";
import {
  createTransactions,
  type TransactionDeps,
} from "../../src/infrastructure/engine/folder-workspace.ts";
import { beginOverlayTransaction } from "../../src/infrastructure/engine/overlay-transaction.ts";
import { findProgram } from "../../src/infrastructure/platform/find-program.ts";
import { findGit } from "../../src/infrastructure/platform/git-roots.ts";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { locateStorage, type Storage } from "../../src/infrastructure/platform/workspace-storage.ts";
import { createSandbox, type Sandbox } from "../../src/infrastructure/sandbox/create-sandbox.ts";
import { landsAll } from "./lands-all.ts";
import { type Tree, treeOf } from "./tree.ts";

/** How a job is staged. Nothing in a test may depend on where the view lies. */
export type StagingKind = "direct" | "copy" | "overlay";

/** A workspace of its own with the real engine on it. */
export interface TransactionBench {
  readonly kind: StagingKind;
  /** Everything of this bench lies below; the workspace is one folder of it. */
  readonly folder: string;
  readonly workspace: string;
  readonly storage: Storage;
  readonly transactions: Transactions;
  at(path: string): string;
  /** Writes as the user does, outside any job. */
  save(path: string, text: string | Uint8Array): void;
  read(path: string): string;
  tree(): Tree;
  begin(kind?: StagingKind): Promise<{ jobId: string; transaction: Transaction }>;
  /** A job from begin to its preview. */
  stage(change: Change, kind?: StagingKind): Promise<string>;
  /** A job from begin to its commit, which must succeed. */
  apply(change: Change, kind?: StagingKind): Promise<string>;
  remove(): void;
}

export type Change = (view: View, transaction: Transaction) => void | Promise<void>;

export interface BenchOptions {
  readonly deps?: Partial<TransactionDeps>;
  readonly home?: string;
  /** Where the workspace lies below the bench's folder. */
  readonly workspaceAt?: string;
  readonly folder?: string;
}

export function createBench(kind: StagingKind, options: BenchOptions = {}): TransactionBench {
  const folder = options.folder ?? realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-bench-")));
  const workspace = join(folder, options.workspaceAt ?? "ws");
  mkdirSync(workspace, { recursive: true });
  const home = options.home ?? join(folder, "home");
  const storage = locateStorage(workspace, home, findGit(workspace)?.topLevel ?? workspace);
  const transactions = openTransactions(storage, home, options.deps);
  const bench: TransactionBench = {
    kind,
    folder,
    workspace,
    storage,
    transactions,
    at: (path) => join(workspace, path),
    save(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path) => readFileSync(join(workspace, path), "utf8"),
    tree: () => treeOf(workspace),
    async begin(wanted = kind) {
      const jobId = newJobId();
      const begun = await transactions.begin({ startedBy: "user", jobId, kind: wanted });
      if (!begun.ok) throw new Error(`refused: ${begun.refusal.message}`);
      return { jobId, transaction: begun.transaction };
    },
    async stage(change, wanted) {
      const { jobId, transaction } = await bench.begin(wanted);
      await change(transaction.view, transaction);
      await transaction.seal(landsAll);
      await transactions.stage(jobId);
      return jobId;
    },
    async apply(change, wanted) {
      const jobId = await bench.stage(change, wanted);
      const outcome = await transactions.commit(jobId);
      if (outcome.status !== "done") throw new Error(`not committed: ${JSON.stringify(outcome)}`);
      return jobId;
    },
    remove: () => removeTree(folder),
  };
  return bench;
}

/** The engine on a storage, as a second process would open it. */
export function openTransactions(
  storage: Storage,
  home: string,
  deps: Partial<TransactionDeps> = {},
): Transactions {
  return createTransactions({
    storage,
    copyLimitBytes: 1 << 30,
    lockTimeoutMs: 10_000,
    ownFolders: [storage.outer, home],
    now: () => new Date(),
    sandbox: async () => testSandbox(storage, home),
    ...deps,
  });
}

/** The sandbox as the program wires it, confined; a copy stays in process, so that its tests see what it does. */
function testSandbox(storage: Storage, home: string): Sandbox {
  const bubblewrap = findProgram("bwrap", process.env.PATH ?? "") ?? "bwrap";
  const staging = { kind: "overlay", reason: "configured", bubblewrap } as const;
  const wired = createSandbox({
    beginOverlay: beginOverlayTransaction,
    secrets: { patterns: [], protects: () => false, allows: () => false },
    env: process.env,
    storage,
    home,
    confined: true,
    mustConfine: true,
    allowSshAgent: false,
    homeAllow: [],
    homeWrites: [],
    networks: {
      own: { mode: "on", allowed_domains: [], denied_domains: [] },
      model: { ...{ mode: "on", allowed_domains: [], denied_domains: [] }, mode: "on" },
      forges: [],
    },
    readHosts: async () => ({ user: [], remotes: [], trusted: [] }),
    limits: { memory: 0, fileSize: 0, openFiles: 0, processes: 8192, disk: 0 },
    staging,
  });
  return { ...wired, confine: () => null, limit: () => null };
}

export function newJobId(): string {
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(4))).toString("hex");
  return `job_${Math.floor(Date.now() / 1000)}_${random}`;
}

export const text = (content: string): Uint8Array => Buffer.from(content);

/** Appends in place, keeping the inode, as `echo >>` does. */
export function appendInPlace(path: string, content: string): void {
  appendFileSync(path, content);
}
