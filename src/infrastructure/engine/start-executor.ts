import { closeSync, mkdtempSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRunner } from "../../application/ports/process.ts";
import { LimitReached } from "../../application/jobs/limit-reached.ts";
import { rawPipe } from "../platform/confined-process.ts";
import type { Installation } from "../platform/runtime-installation.ts";
import { openPipe } from "../platform/pipe.ts";
import { type SpawnedChild, spawnChild } from "../platform/process-calls.ts";
import { removeTree } from "./remove-tree.ts";
import { watchDisk } from "./disk-watch.ts";
import type { ExecutorSettings } from "./executor.ts";
import {
  type Call,
  ChannelClosed,
  createFrameReader,
  encodeFrame,
  type Frame,
  writeFrame,
} from "./frames.ts";
import { killStrays } from "./kill-strays.ts";
import { createRemoteProcesses } from "./executor-channel.ts";
import { createCall } from "./remote-view.ts";
import { CONFINED_STAGE, proxySocket, type SandboxPlan, SYSTEM_PATH, sandboxArguments } from "./sandbox-plan.ts";
import { SILENT_SANDBOX } from "./staging.ts";

export interface Executor {
  readonly call: Call;
  readonly processes: ProcessRunner;
  /** Why it ended before the job did: what it had been doing may be half done. Null while all is well. */
  readonly whyEnded: () => Error | null;
  /** Ends the executor and, with its namespace, everything that runs in it. Idempotent. */
  stop(): Promise<void>;
}

export type ExecutorStart =
  | { readonly ok: true; readonly executor: Executor }
  | { readonly ok: false; readonly complaint: string };

/** Starts the executor inside a sandbox and waits until it stands there. Nothing of the job has run when it fails. */
export async function startExecutor(
  plan: SandboxPlan,
  installation: Installation,
  env: Readonly<Record<string, string>>,
): Promise<ExecutorStart> {
  const pipes = openChannels();
  if (pipes === null) return { ok: false, complaint: "no pipes" };
  const { calls, answers, requests, replies, complaints } = pipes;
  const command = executorCommand(installation, plan, env.PATH ?? SYSTEM_PATH);
  const ends = [requests.readEnd, replies.writeFd, complaints.writeFd, calls.readEnd, answers.writeEnd];
  const stage = openStage(plan);
  const started = trySpawn(() =>
    spawnChild({
      argv: [plan.bubblewrap, ...sandboxArguments(plan, command, stage.path())],
      stdio: ends,
      // The runtime would keep a cache in the home of the view, which may lie in the workspace.
      env: { ...env, PATH: SYSTEM_PATH, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
      cwd: "/",
      detached: false,
    }),
  );
  for (const end of ends) closeSync(end);
  if ("complaint" in started) {
    stage.close();
    return { ok: false, complaint: started.complaint };
  }
  const child = started;
  const exited = child.exited.then(() => {});
  let complaint = "";
  const complaining = complaints.read((bytes) => {
    complaint = (complaint + Buffer.from(bytes).toString("utf8")).slice(-COMPLAINT_CHARACTERS);
  });
  const remote = createRemoteProcesses((head) => sendFrame(requests.writeEnd, head));
  let stopping: Promise<void> | null = null;
  let whyEnded: Error | null = null;
  const ready = Promise.withResolvers<void>();
  const onFrame = (frame: Frame) => (frame.head.ready === true ? ready.resolve() : remote.onFrame(frame));
  void replies.read(createFrameReader(onFrame)).then(() => {
    if (stopping === null) whyEnded ??= new ChannelClosed();
    remote.onEnd();
  });
  let unwatch = () => {};
  const stop = () => {
    stopping ??= (async () => {
      unwatch();
      closeSync(calls.writeEnd);
      closeSync(requests.writeEnd);
      await waitForExit(child, exited);
      closeSync(answers.readEnd);
      await waitForComplaint(complaining);
      // A cache that has eaten the disk is no cache.
      if (whyEnded instanceof LimitReached && whyEnded.what === "home")
        for (const { name } of plan.home?.layers ?? []) removeTree(join(plan.home?.folder ?? "", name, "u"));
    })();
    return stopping;
  };
  // Not a blocking read: a sandbox that was killed half made may never close its end.
  const stands = await Promise.race([ready.promise.then(() => true), exited.then(() => false)]);
  stage.close();
  if (!stands) {
    killStrays(plan.job);
    await stop();
    return { ok: false, complaint: complaint.trim() || SILENT_SANDBOX };
  }
  unwatch = watchDisk(plan, (reached) => {
    whyEnded ??= reached;
    void stop();
  });
  return {
    ok: true,
    executor: {
      call: createCall(calls.writeEnd, answers.readEnd),
      processes: remote.runner,
      whyEnded: () => whyEnded,
      stop,
    },
  };
}

const COMPLAINT_CHARACTERS = 4000;

/**
 * Where nothing is confined, the folder to set up in must exist on the host. Once the sandbox stands nobody needs it,
 * and its removal takes what is mounted on it along.
 */
function openStage({ confined }: SandboxPlan) {
  let made: string | null = null;
  return {
    path(): string {
      if (confined) return CONFINED_STAGE;
      made = mkdtempSync("/tmp/picoclaw-stage-");
      return made;
    },
    close(): void {
      try {
        if (made !== null) rmdirSync(made);
      } catch {
        // An empty folder stays behind.
      }
    },
  };
}

function executorCommand(
  { folder, runtime, executor }: Installation,
  plan: SandboxPlan,
  path: string,
): string[] {
  const flags = [
    `--config=${join(folder, "bunfig.toml")}`,
    "--no-env-file",
    `--tsconfig-override=${join(folder, "tsconfig.json")}`,
    "--no-install",
  ];
  const told: ExecutorSettings = {
    root: plan.directory,
    path,
    proxy: proxySocket(plan),
    limits: plan.limits,
  };
  return [runtime, ...flags, join(folder, executor), JSON.stringify(told)];
}

function sendFrame(descriptor: number, head: Readonly<Record<string, unknown>>): void {
  try {
    writeFrame(descriptor, encodeFrame(head));
  } catch {
    // The executor is gone; the end of the replies says so to everybody who waits for one.
  }
}

function openChannels() {
  const calls = rawPipe();
  const answers = rawPipe();
  const requests = rawPipe();
  const replies = openPipe();
  const complaints = openPipe();
  if (!calls.ok || !answers.ok || !requests.ok || !replies.ok || !complaints.ok) return null;
  return {
    calls: calls.value,
    answers: answers.value,
    requests: requests.value,
    replies: replies.value,
    complaints: complaints.value,
  };
}

function trySpawn(start: () => SpawnedChild): SpawnedChild | { readonly complaint: string } {
  try {
    return start();
  } catch (error) {
    return { complaint: (error as Error).message };
  }
}

const GRACE_MS = 500;

/** The executor leaves when its channels close; bubblewrap's death takes the rest of the namespace with it. */
async function waitForExit(child: SpawnedChild, exited: Promise<void>): Promise<void> {
  const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  await exited;
  clearTimeout(timer);
}

/** What the sandbox had to say, unless a stray of it keeps the pipe open. */
async function waitForComplaint(complaining: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, GRACE_MS);
  await Promise.race([complaining, late.promise]);
  clearTimeout(timer);
}
