import { join } from "node:path";
import type { Draft } from "../src/application/ports/jobs-draft.ts";
import type { Workspace } from "../src/application/ports/jobs-workspace.ts";
import { bundleNote, loadInstalled, removeInstalled } from "./installed.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { fillWorkspace, remove, tempFolder } from "./workspaces.ts";

type Wiring = typeof import("../src/wiring/workspace.ts");
type OpenWorkspace = Wiring["openWorkspace"];

const FILES = 20_000;
const signal = new AbortController().signal;

/** The cost of drafts and checks beyond the commands and the model, on 20,000 files. */
export async function drafts(): Promise<Row[]> {
  const folder = tempFolder("drafts");
  const at = join(folder, "ws");
  fillWorkspace(at, FILES);
  const { openWorkspace } = await loadInstalled<Wiring>("wiring/workspace.ts");
  const rows = [
    ...(await overlayRows(folder, at, openWorkspace)),
    ...(await copyRows(folder, at, openWorkspace)),
  ];
  remove(folder);
  removeInstalled();
  return rows;
}

async function overlayRows(folder: string, at: string, openWorkspace: OpenWorkspace): Promise<Row[]> {
  const workspace = await open(folder, at, "auto", openWorkspace);
  const times = await inTurns(9, {
    command: () => once(workspace, true, [edit(), shell("true")], ["true"]),
    edits: () => once(workspace, true, [edit()], ["true"]),
    unchecked: () => once(workspace, false, [edit()], []),
    job: async () => {
      const patch = JSON.stringify([edit()]);
      await workspace.execute({ patch, source: "bench", startedBy: "user", signal });
    },
    one: () => sleepers(workspace, 1),
    three: () => sleepers(workspace, 3),
  });
  const atOnce = times.three.median / times.one.median;
  const cheap = times.unchecked.median / times.job.median;
  return [
    {
      name: `an attempt (an edit, a command) and a check of it, ${FILES} files${bundleNote()}`,
      figure: milliseconds(times.command),
      target: "≤ 150 ms",
      ok: times.command.median <= 150,
    },
    {
      name: "… of an edit alone",
      figure: milliseconds(times.edits),
      target: "≤ 150 ms",
      ok: times.edits.median <= 150,
    },
    {
      name: "one edit as a draft without checks / as a job",
      figure: `${cheap.toFixed(2)} (${milliseconds(times.unchecked)} / ${milliseconds(times.job)})`,
      target: "≤ 1.3",
      ok: cheap <= 1.3,
    },
    {
      name: "three drafts that each wait a second / one",
      figure: `${atOnce.toFixed(2)} (${milliseconds(times.three)} / ${milliseconds(times.one)})`,
      target: "≤ 1.5",
      ok: atOnce <= 1.5,
    },
  ];
}

/** Where there is no overlay, it costs what it costs. */
async function copyRows(folder: string, at: string, openWorkspace: OpenWorkspace): Promise<Row[]> {
  const workspace = await open(folder, at, "copy", openWorkspace);
  const draft = await begin(workspace, true);
  const times = await inTurns(
    5,
    {
      attempt: () => run(draft, [edit(), shell("true")]),
      check: () => check(draft, ["true"], "draft"),
      baseline: () => check(draft, ["true"], "baseline"),
    },
    1,
  );
  await draft.discard("bench");
  return [
    {
      name: `staged in a copy of ${FILES} files: attempt / check / check of the baseline`,
      figure: [times.attempt, times.check, times.baseline].map(milliseconds).join(" / "),
      target: "told",
      ok: true,
    },
  ];
}

async function open(
  folder: string,
  at: string,
  transaction: string,
  openWorkspace: OpenWorkspace,
): Promise<Workspace> {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_WORKER_TRANSACTION: transaction,
  };
  const opened = await openWorkspace(env, { cwd: at });
  if (!opened.ok) throw new Error(JSON.stringify(opened.problems));
  return opened.workspace;
}

async function begin(workspace: Workspace, checked: boolean): Promise<Draft> {
  const opened = await workspace.openDraft({ source: "bench", startedBy: "user", checked, signal });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.draft;
}

async function once(
  workspace: Workspace,
  checked: boolean,
  commands: readonly object[],
  checks: readonly string[],
): Promise<void> {
  const draft = await begin(workspace, checked);
  await run(draft, commands);
  if (checks.length > 0) await check(draft, checks, "draft");
  const ended = await draft.commit();
  if (!ended.success) throw new Error(JSON.stringify(ended));
}

async function sleepers(workspace: Workspace, count: number): Promise<void> {
  const drafts = await Promise.all(Array.from({ length: count }, () => begin(workspace, true)));
  await Promise.all(drafts.map((draft) => check(draft, ["sleep 1"], "draft")));
  await Promise.all(drafts.map((draft) => draft.discard("bench")));
}

async function run(draft: Draft, commands: readonly object[]): Promise<void> {
  const ran = await draft.run({ attempt: 1, work: { patch: JSON.stringify(commands) } });
  if (ran.about !== "attempt" || ran.results.some(({ success }) => !success))
    throw new Error(JSON.stringify(ran));
}

async function check(draft: Draft, commands: readonly string[], over: "draft" | "baseline"): Promise<void> {
  const checked = await draft.check({ commands, over, timeoutSeconds: 60 });
  if (!checked.ok || checked.runs.some(({ exitCode }) => exitCode !== 0))
    throw new Error(JSON.stringify(checked));
}

let n = 0;
const edit = () => ({
  type: "file_edit",
  action: "update",
  target: "d0/f0/file1.txt",
  content: `${n++}\n`,
});
const shell = (target: string) => ({ type: "shell_command", action: "run", target });
