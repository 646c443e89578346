import { join } from "node:path";
import type { EarlierDraft } from "../src/application/history/earlier-draft.ts";
import type { Workspace } from "../src/application/ports/jobs-workspace.ts";
import { bundleNote, loadInstalled, removeInstalled } from "./installed.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { peakOfTree } from "./tree-memory.ts";
import { fillWorkspace, remove, tempFolder } from "./workspaces.ts";

type Wiring = typeof import("../src/wiring/history.ts");
type Drafts = typeof import("../src/application/history/earlier-draft.ts");
type Whys = typeof import("../src/application/history/find-why.ts");

const [FILES, JOBS] = [20_000, 200];
const signal = new AbortController().signal;
/** One file that each job changes. */
const CHANGED = "d0/f0/file0.txt";

/** What the jobs of a workspace can be asked: drafts over earlier states, and why a line is there. */
export async function history(): Promise<Row[]> {
  const folder = tempFolder("history");
  const at = join(folder, "ws");
  fillWorkspace(at, FILES);
  try {
    const { openHistory } = await loadInstalled<Wiring>("wiring/history.ts");
    const { openDraftBefore } = await loadInstalled<Drafts>("application/history/earlier-draft.ts");
    const { findWhy } = await loadInstalled<Whys>("application/history/find-why.ts");
    const env = { PATH: process.env.PATH, HOME: folder, PICOCLAW_HOME: join(folder, "home") };
    const opened = await openHistory(env, { cwd: at });
    if (!opened.ok) throw new Error(JSON.stringify(opened.problems));
    const { workspace, history: jobs } = opened;
    for (let n = 0; n < JOBS; n++) await writeLine(workspace, n);
    if (jobs.stack().jobs.length !== JOBS) throw new Error("not every job landed");
    const before = (place: number) =>
      openDraftBefore(workspace, jobs.stack(), place, { source: "bench", signal });
    const once = async (place: number) => closeDraft(await before(place));
    const times = await inTurns(5, {
      back: () => once(0),
      now: () => once(JOBS),
      why: async () => void (await findWhy(jobs.why(), CHANGED, 1)),
    });
    const held = await memoryOf(async () => {
      const drafts = await Promise.all([0, 50, 100, 150, JOBS].map(before));
      await Promise.all(drafts.map(checkDraft));
      await Promise.all(drafts.map(closeDraft));
    });
    const ratio = times.back.median / times.now.median;
    return [
      {
        name: `a draft ${JOBS} jobs back / of the present, ${FILES} files${bundleNote()}`,
        figure: `${ratio.toFixed(2)} (${milliseconds(times.back)} / ${milliseconds(times.now)})`,
        target: "≤ 3",
        ok: ratio <= 3,
      },
      {
        name: `why a line is there, ${JOBS} jobs / the draft of the present`,
        figure: `${(times.why.median / times.now.median).toFixed(2)} (${milliseconds(times.why)})`,
        target: "≤ 1",
        ok: times.why.median <= times.now.median,
      },
      {
        name: "five drafts over different states at once, each with a check: memory beyond the program",
        figure: `${held.toFixed(0)} MB`,
        target: "≤ 400 MB",
        ok: held <= 400,
      },
    ];
  } finally {
    remove(folder);
    removeInstalled();
  }
}

async function writeLine(workspace: Workspace, n: number): Promise<void> {
  const command = { type: "file_edit", action: "create", target: CHANGED, content: `line of job ${n}\n` };
  await workspace.execute({ patch: JSON.stringify([command]), source: "bench", startedBy: "user", signal });
}

async function checkDraft(opened: EarlierDraft): Promise<void> {
  if (!opened.ok) throw new Error(JSON.stringify(opened));
  await opened.draft.check({ commands: ["sleep 1"], over: "draft", timeoutSeconds: 60, signal });
}

async function closeDraft(opened: EarlierDraft): Promise<void> {
  if (!opened.ok) throw new Error(JSON.stringify(opened));
  await opened.close();
}

/** The most that this process and all below it hold meanwhile, beyond what they held before, in MiB. */
async function memoryOf(use: () => Promise<void>): Promise<number> {
  const { pid } = process;
  const rest = await peakOfTree({ pid, exited: Bun.sleep(50).then(() => 0) });
  const peak = await peakOfTree({ pid, exited: use().then(() => 0) });
  return peak - rest;
}
