/** Eight tasks at once in one real checkout, beside eight git worktrees: a clone of this project with its dependencies. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openChat } from "../src/wiring/chat.ts";
import { createFakeModels } from "../test/fakes/fake-models.ts";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const TASKS = 8;
/** How long the model of each task thinks: the slowest last. */
const thinkMs = (task: number) => 3_000 + task * 200;
const FILE = "tasks.ts";
const part = (task: number) => `export function task${task}(): number {\n  return ${task};\n}\n\n`;
/** Needs a dependency of the project, as any check does: a draft has them, a bare worktree has not. */
const CHECK = "node check-tasks.mjs";
const CHECK_FILE = `import { readFileSync } from "node:fs";
import picomatch from "picomatch";
const text = readFileSync("${FILE}", "utf8");
const found = text.match(/task\\d\\(\\): number \\{\\n  return \\d(?: \\+ 100)?;\\n\\}/g) ?? [];
if (!picomatch("*.ts")("${FILE}") || found.length !== ${TASKS}) process.exit(1);
`;
/** Worktrees that are really made; each further one costs the same. */
const MADE = 2;

export async function manyAtOnce(): Promise<Row[]> {
  const folder = tempFolder("many-at-once");
  try {
    const at = makeCheckout(folder);
    const alone = await runTasks(folder, at, [TASKS - 1]);
    git(at, "checkout", "-q", "--", FILE);
    const all = await runTasks(folder, at, [...Array(TASKS).keys()]);
    const text = readFileSync(join(at, FILE), "utf8");
    const landed = [...Array(TASKS).keys()].filter((task) => text.includes(`return ${task} + 100;`)).length;
    const trees = makeWorktrees(folder, at);
    const most = 1.3 * alone.wallMs + (TASKS - 1) * alone.landMs;
    const perDraft = (all.waitingBytes - all.restingBytes) / TASKS / 1024 ** 2;
    return [
      {
        name: `${TASKS} tasks at once in one file of one checkout: landed`,
        figure: `${landed} of ${TASKS}, ${all.green} said so`,
        target: `${TASKS}`,
        ok: landed === TASKS && all.green === TASKS,
      },
      {
        name: "… their time / the slowest alone and seven landings",
        figure: `${seconds(all.wallMs)} / ${seconds(alone.wallMs)} and 7 × ${seconds(alone.landMs)}`,
        target: "≤ 1.3 × slowest + landings",
        ok: all.wallMs <= most,
      },
      {
        name: "… memory and disk of a draft whose model thinks",
        figure: `${perDraft.toFixed(1)} MB, ${(all.draftBytes / TASKS / 1024).toFixed(0)} KiB`,
        target: "≤ 4 MB",
        ok: perDraft <= 4,
      },
      {
        name: `… beside ${TASKS} git worktrees with the dependencies copied, before any work (${MADE} made, × ${TASKS / MADE})`,
        figure: `${seconds(trees.ms)}, ${(trees.bytes / 1024 ** 2).toFixed(0)} MB`,
        target: "told",
        ok: true,
      },
    ];
  } finally {
    remove(folder);
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const git = (at: string, ...args: string[]) => execFileSync("git", ["-C", at, ...args], { stdio: "pipe" });

/** This project at its last commit, with its dependencies and one file of eight functions. */
function makeCheckout(folder: string): string {
  const at = join(folder, "ws");
  const own = resolve(import.meta.dir, "..");
  execFileSync("git", ["clone", "-q", "--no-hardlinks", own, at]);
  cpSync(join(own, "node_modules"), join(at, "node_modules"), { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(at, FILE), `${[...Array(TASKS).keys()].map(part).join("").trimEnd()}\n`);
  writeFileSync(join(at, "check-tasks.mjs"), CHECK_FILE);
  git(at, "add", FILE, "check-tasks.mjs");
  git(at, "-c", "user.name=B", "-c", "user.email=b@example.com", "commit", "-qm", "tasks");
  return at;
}

async function runTasks(folder: string, at: string, tasks: readonly number[]) {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), JSON.stringify({ checks: { command: CHECK } }));
  const answered = new Map<number, number>();
  const waiting = Promise.withResolvers<void>();
  let asked = 0;
  const fake = createFakeModels(async ({ messages }) => {
    const task = Number(/raise task (\d+)/.exec(messages[0]?.text ?? "")?.[1]);
    if (++asked === tasks.length) waiting.resolve();
    await Bun.sleep(thinkMs(task));
    answered.set(task, performance.now());
    const edit = `${FILE}\n\`\`\`\n<<<<<<< SEARCH\n  return ${task};\n=======\n  return ${task} + 100;\n>>>>>>> REPLACE\n\`\`\``;
    return `## Plan\nRaise ${task}\n\n## Patch\n${edit}\n\n## Risk\nlow\n`;
  });
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: home, PICOCLAW_LOCALE: "en" };
  const chat = await openChat(env, { cwd: at }, { models: fake.models });
  if (!chat.ok) throw new Error(chat.message);
  const ended = new Map<number, number>();
  const restingBytes = memory();
  const started = performance.now();
  const replies = tasks.map(async (task) => {
    const signal = new AbortController().signal;
    const message = {
      channel: "bench",
      chatId: `c${task}`,
      userId: "u",
      text: `/code3 raise task ${task} in ${FILE}`,
    };
    const reply = await chat.conversation.handle(message, { signal });
    ended.set(task, performance.now());
    return reply;
  });
  await waiting.promise;
  await Bun.sleep(1_000);
  const waitingBytes = memory();
  const jobs = chat.workspace.archive.list().filter(({ state }) => state === "running");
  const draftBytes = jobs.reduce(
    (sum, { jobId }) => sum + diskOf(join(chat.workspace.storage, "jobs", jobId)),
    0,
  );
  const done = await Promise.all(replies);
  const wallMs = performance.now() - started;
  await chat.close();
  const [task = 0] = tasks;
  return {
    wallMs,
    green: done.filter(({ ok, jobs: [job] }) => ok && job?.success === true).length,
    landMs: (ended.get(task) ?? 0) - (answered.get(task) ?? 0),
    restingBytes,
    waitingBytes,
    draftBytes,
  };
}

function memory(): number {
  Bun.gc(true);
  return process.memoryUsage.rss();
}

function diskOf(path: string): number {
  if (!existsSync(path)) return 0;
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return Number(execFileSync("du", ["-sb", path]).toString().split("\t")[0]);
}

/** The cheapest a worktree can be: nothing is fetched, and the dependencies are copied from the checkout. */
function makeWorktrees(folder: string, at: string): { readonly ms: number; readonly bytes: number } {
  const started = performance.now();
  const trees = Array.from({ length: MADE }, (_, task) => join(folder, `tree${task}`));
  for (const tree of trees) {
    git(at, "worktree", "add", "-q", "--detach", tree);
    execFileSync("cp", ["-a", join(at, "node_modules"), join(tree, "node_modules")]);
  }
  const ms = (performance.now() - started) * (TASKS / MADE);
  return { ms, bytes: (TASKS / MADE) * trees.reduce((sum, tree) => sum + diskOf(tree), 0) };
}
