/**
 * A job that edits, runs a command over some thirty paths and commits is killed without farewell at a random moment (by day at
 * 24 of them): its program in one half of the rounds, its sandbox in the other. At any moment, the next command finds the
 * workspace exactly as before the job or exactly as after it.
 */

import { describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { treeOf, withoutTimes } from "../contracts/tree.ts";
import { create, PROGRAM, shell, until } from "../e2e/cli-kit.ts";
import { requirePart, runs } from "../require.ts";

const LANES = 2;
const isNight = runs(1) > 1;
const ROUNDS = isNight ? runs(60) : 24;
const ROUNDS_A_TEST = isNight ? 20 : 24;
/** A little longer than the job, so that some kills come too late. */
const SPAN = 1.3;

const JOB = [
  { type: "file_edit", action: "update", target: "f1", content: "edited\n" },
  shell(
    "for i in 2 3 4 5 6 7 8 9; do echo more >> f$i; echo $i > made$i; done; rm -r gone; mkdir -p d/e; mv g1 d/e/g1; mv g2 g3; chmod 600 f9; ln -s f1 link; for i in 1 2 3 4 5; do echo $i > d/e/$i; done",
  ),
  create("last", "x\n"),
];

interface Place {
  readonly folder: string;
  readonly workspace: string;
}

function prepare(): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-kill-")));
  const workspace = join(folder, "ws");
  for (const path of ["ws/gone/deep", "user"]) mkdirSync(join(folder, path), { recursive: true });
  const names = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `f${i}`).concat("g1", "g2", "gone/a", "gone/deep/b");
  for (const name of names) writeFileSync(join(workspace, name), `${name}\n`);
  writeFileSync(join(folder, "job.json"), JSON.stringify(JOB));
  writeFileSync(join(folder, "next.json"), JSON.stringify([create("next", "x")]));
  return { folder, workspace };
}

function start({ folder, workspace }: Place, patch: string): ChildProcess {
  return spawn(PROGRAM, ["apply", join(folder, patch)], {
    cwd: workspace,
    env: {
      PATH: process.env.PATH,
      HOME: join(folder, "user"),
      PICOCLAW_HOME: join(folder, "home"),
      PICOCLAW_LOCALE: "en",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function ended(child: ChildProcess): Promise<{ code: number | null; err: string }> {
  let err = "";
  child.stderr?.on("data", (data) => (err += data));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, err })));
}

/** The first child of a process, if it is there. */
function childOf(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")[0]) || null;
  } catch {
    return null;
  }
}

function processesNaming(text: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

/** Layers and states of jobs that no process works on any more. */
function remains(folder: string): string[] {
  const workspaces = join(folder, "home/workspaces");
  if (!existsSync(workspaces)) return [];
  return readdirSync(workspaces).flatMap((id) => {
    const jobs = join(workspaces, id, "jobs");
    return readdirSync(jobs).flatMap((job) => {
      const state = readFileSync(join(jobs, job, "state.json"), "utf8");
      const running = /"running"/.test(state) ? [`${job} is running`] : [];
      return [
        ...running,
        ...readdirSync(join(jobs, job)).filter((name) => /^([uw]\d+|view|home)$/.test(name)),
      ];
    });
  });
}

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One job, one kill, one look; returns the side of the job that is in the workspace. */
async function round(
  victim: "program" | "sandbox",
  delayMs: number,
  after: unknown,
): Promise<"before" | "after"> {
  const place = prepare();
  const { folder, workspace } = place;
  try {
    const before = treeOf(workspace);
    const job = start(place, "job.json");
    const end = ended(job);
    await pause(delayMs);
    const pid = job.pid as number;
    const target = victim === "program" ? pid : (childOf(pid) ?? pid);
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It had ended by itself.
    }
    await end;
    const next = await ended(start(place, "next.json"));
    expect({ ...next, delayMs, victim }).toMatchObject({ code: 0 });
    const { next: made, ...now } = treeOf(workspace);
    expect(made?.bytes).toBe("x");
    const side = "last" in now ? "after" : "before";
    if (side === "before") expect(now).toEqual(before);
    else expect(withoutTimes(now)).toEqual(after as never);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(folder);
    expect(remains(folder)).toEqual([]);
    await until(() => processesNaming(folder).length === 0);
    return side;
  } finally {
    removeTree(folder);
  }
}

/** The job left alone: what it leaves, and how long it takes. */
async function finished(): Promise<{ after: unknown; durationMs: number }> {
  const place = prepare();
  const began = performance.now();
  try {
    expect((await ended(start(place, "job.json"))).code).toBe(0);
    return { after: withoutTimes(treeOf(place.workspace)), durationMs: performance.now() - began };
  } finally {
    removeTree(place.folder);
  }
}

describe.if(process.platform === "linux" && requirePart("bwrap"))(
  "a job that is killed at a random moment",
  () => {
    const batches = Array.from({ length: ROUNDS / ROUNDS_A_TEST }, (_, i) => i + 1);
    test.each(batches)(
      "is there as a whole or not at all (batch %i)",
      async (seed) => {
        const random = createRandom(seed);
        const { after, durationMs } = await finished();
        // One in each part of the job's time: few rounds see every part of it, and both victims die all along it.
        const share = (durationMs * SPAN) / ROUNDS_A_TEST;
        const delays = Array.from({ length: ROUNDS_A_TEST }, (_, part) => (part + random()) * share);
        const lane = async (first: number) => {
          for (let i = first; i < delays.length; i += LANES)
            await round((i >> 1) % 2 === 0 ? "program" : "sandbox", delays[i] as number, after);
        };
        await Promise.all(Array.from({ length: LANES }, (_, i) => lane(i)));
      },
      300_000,
    );
  },
);
