import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Transaction } from "../src/application/ports/jobs-transaction.ts";
import { DEFAULTS } from "../src/config/config.ts";
import { createTransactions } from "../src/infrastructure/engine/folder-workspace.ts";
import { beginOverlayTransaction } from "../src/infrastructure/engine/overlay-transaction.ts";
import { findProgram } from "../src/infrastructure/platform/find-program.ts";
import { findInstallation, threadEntry } from "../src/infrastructure/platform/installation.ts";
import { LEAST_ABI, landlockAbi } from "../src/infrastructure/platform/landlock.ts";
import { locateStorage } from "../src/infrastructure/platform/workspace-storage.ts";
import { createSandbox } from "../src/infrastructure/sandbox/create-sandbox.ts";
import { createLimitCopy } from "../src/infrastructure/sandbox/limited-copy.ts";
import { openWorkspace } from "../src/wiring/workspace.ts";
import { bundleNote, findBundle } from "./installed.ts";
import { inTurns, milliseconds, type Row, type Sample, type Side } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const FEW = 1;
const MANY = 41;
const ROOT = join(import.meta.dir, "..");

/** The cost of a sandbox: to a job once, and to each further command; beside the sandbox of codex for one command. */
export async function sandboxCost(): Promise<Row[]> {
  const folder = tempFolder("sandbox");
  const workspace = join(folder, "ws");
  mkdirSync(workspace);
  const home = join(folder, "home");
  const opened = await openWorkspace({ ...process.env, PICOCLAW_HOME: home }, { cwd: workspace });
  if (!opened.ok) throw new Error("no workspace");
  const { execute } = opened.workspace;
  const job = async (commands: number) => {
    const patch = JSON.stringify(
      Array.from({ length: commands }, () => ({ type: "shell_command", action: "run", target: ":" })),
    );
    const flags = { dryRun: false, preview: false, atomic: false, stopOnError: false, autoCommit: false };
    await execute({
      patch,
      source: "bench",
      startedBy: "user",
      ...flags,
      signal: new AbortController().signal,
    });
  };
  const plain = () =>
    new Promise<void>(
      (resolve) => void spawn("bash", ["-c", ":"], { stdio: "ignore" }).on("exit", () => resolve()),
    );
  const codex = findCodex();
  const isLimitable = landlockAbi() >= LEAST_ABI;
  const setUpJob = setUpOnce(workspace, home);
  const sides: Record<string, Side | Side["run"]> = {
    runtime: () => void execFileSync(process.execPath, ["-e", "0"]),
    plain,
    setUp: setUpJob,
    ...(isLimitable && { limited: limitOnce(folder) }),
    few: () => job(FEW),
    many: () => job(MANY),
    ...(codex !== null && {
      codex: () =>
        void execFileSync(codex, ["sandbox", "--", "bash", "-c", ":"], { cwd: workspace, stdio: "ignore" }),
    }),
  };
  const times = (await inTurns(15, sides)) as Record<string, Sample>;
  // The last view is still open: nothing of it can be removed, and its executor would keep this program from ending.
  await setUpJob.prepare?.();
  remove(folder);
  const of = (name: string) => times[name] as Sample;
  const setUp = of("setUp").median - of("runtime").median;
  const each = (of("many").median - of("few").median) / (MANY - FEW);
  return [
    {
      name: `set-up of a job with commands, beyond the bare runtime${bundleNote()}`,
      figure: `${setUp.toFixed(1)} ms (${milliseconds(of("setUp"))} / ${milliseconds(of("runtime"))})`,
      target: "≤ 25 ms",
      ok: setUp <= 25,
    },
    {
      name: "each further command, beyond a plain spawn",
      figure: `${(each - of("plain").median).toFixed(1)} ms (${each.toFixed(1)} ms / ${milliseconds(of("plain"))})`,
      target: "≤ 3 ms",
      ok: each - of("plain").median <= 3,
    },
    isLimitable
      ? {
          name: "limits of a job by Landlock, where nothing confines: thread, rules and trial",
          figure: milliseconds(of("limited")),
          target: "≤ 15 ms",
          ok: of("limited").median <= 15,
        }
      : { name: "limits of a job by Landlock", figure: "absent: no Landlock here", target: "", ok: true },
    codex === null
      ? {
          name: "one command in the sandbox of codex",
          figure: "absent: no codex in PATH or PICOCLAW_BENCH_CODEX (npm install @openai/codex elsewhere)",
          target: "beside ours",
          ok: true,
        }
      : {
          name: "each further command / one command in the sandbox of codex",
          figure: `${(each / of("codex").median).toFixed(2)} (${each.toFixed(1)} ms / ${milliseconds(of("codex"))})`,
          target: "≤ 0.5",
          ok: each / of("codex").median <= 0.5,
        },
  ];
}

/** Opens a view as the installed program does, with the executor of the bundle, and lets it go. */
function setUpOnce(workspace: string, home: string): Side {
  const storage = locateStorage(workspace, home, workspace);
  const bubblewrap = findProgram("bwrap", process.env.PATH ?? "");
  const { limits } = DEFAULTS.worker;
  const bundle = findBundle();
  const sandbox = createSandbox({
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
    networks: { own: DEFAULTS.worker.network, model: { ...DEFAULTS.worker.network, mode: "on" }, forges: [] },
    readHosts: async () => ({ user: [], remotes: [], trusted: [] }),
    limits: {
      memory: limits.memory,
      fileSize: limits.file_size,
      openFiles: limits.open_files,
      processes: limits.processes,
      disk: limits.disk,
    },
    staging: { kind: "overlay", reason: "configured", bubblewrap },
    ...(bundle !== null && { installation: bundle }),
  });
  const transactions = createTransactions({
    storage,
    copyLimitBytes: 0,
    lockTimeoutMs: 1000,
    ownFolders: [],
    sandbox: async () => sandbox,
    now: () => new Date(),
  });
  let n = 0;
  let begun: { readonly jobId: string; readonly transaction: Transaction } | null = null;
  return {
    async prepare() {
      await begun?.transaction.discard();
      if (begun !== null) await transactions.discard(begun.jobId);
      begun = null;
    },
    async run() {
      const jobId = `job_1_${String(n++).padStart(8, "0")}`;
      const opened = await transactions.begin({ startedBy: "user", jobId, kind: "overlay" });
      if (!opened.ok) throw new Error(opened.refusal.message);
      begun = { jobId, transaction: opened.transaction };
    },
  };
}

/** The cost of limits for a job in a copy. */
function limitOnce(folder: string): Side["run"] {
  const installation = findBundle() ?? findInstallation();
  const readable = [ROOT, installation.runtime];
  const parts = {
    entry: threadEntry(installation, "limited"),
    readable,
    shown: null,
    closed: [],
    processes: 0,
  };
  const limit = createLimitCopy(() => parts);
  const at = join(folder, "limited");
  mkdirSync(at);
  return async () => {
    const limited = await limit?.(at, [], { network: true });
    if (limited === null || limited === undefined) throw new Error("not limited");
    limited.stop();
  };
}

function findCodex(): string | null {
  const named = process.env.PICOCLAW_BENCH_CODEX;
  const found = named ?? findProgram("codex", process.env.PATH ?? "");
  if (found === null || found === undefined) return null;
  return spawnSync(found, ["sandbox", "--", "true"], { stdio: "ignore" }).status === 0 ? found : null;
}
