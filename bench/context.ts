import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { coderContext, contextBudget } from "../src/application/coder/coder-context.ts";
import { createProjectFiles } from "../src/tools/read/project-files.ts";
import { openWorkspace } from "../src/wiring/workspace.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const FILES = 10_000;
const REQUESTS = {
  identifier: "computeInvoiceTotal subtracts prices instead of adding them",
  words: "the invoice shows a negative total",
  japanese: "請求書の合計がマイナスになるので直して",
};

/**
 * The part of a large repository that a coder is shown when no file is named: how long that takes, and whether it is the right
 * file. Each request reads all files.
 */
export async function context(): Promise<Row[]> {
  const folder = tempFolder("context");
  const root = join(folder, "ws");
  fill(root);
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") };
  const opened = await openWorkspace(env, { cwd: root });
  if (!opened.ok) throw new Error(opened.message);
  const project = createProjectFiles(opened.workspace, opened.deps.planOptions);
  const budget = contextBudget({ local: false }, "full");
  const show = (request: string) => coderContext(project, { request, budget });
  const first = await inTurns(1, { first: () => void show(REQUESTS.words) }, 0);
  const later = (request: string) => ({ prepare: () => wait(1), run: () => void show(request) });
  const times = await inTurns(9, {
    identifier: later(REQUESTS.identifier),
    words: later(REQUESTS.words),
    japanese: later(REQUESTS.japanese),
  });
  const rows = Object.entries(REQUESTS).map(([kind, request]): Row => {
    const taken = times[kind as keyof typeof REQUESTS];
    const before = process.cpuUsage();
    const shown = show(request);
    const { user, system } = process.cpuUsage(before);
    const processor = `${Math.round((user + system) / 1_000)} ms of processor time`;
    const isFound = shown.includes("export function computeInvoiceTotal(");
    return {
      name: `context of a request (${kind}), ${FILES} files`,
      figure: `${milliseconds(taken)}, ${processor}, ${shown.length} characters, ${isFound ? "found" : "not found"}`,
      target: "≤ 250 ms",
      ok: taken.median <= 250 && isFound,
    };
  });
  remove(folder);
  return [
    {
      name: `context of the first request of a process, ${FILES} files`,
      figure: milliseconds(first.first),
      target: "≤ 500 ms",
      ok: first.first.median <= 500,
    },
    ...rows,
  ];
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Sources of some 3 KB, 50 to a folder, and the one that is meant in the middle of a longer file. */
function fill(root: string): void {
  for (let i = 0; i < FILES; i++) {
    const folder = join(root, "src", `area${Math.floor(i / 1_000)}`, `part${Math.floor(i / 50)}`);
    if (i % 50 === 0) mkdirSync(folder, { recursive: true });
    const lines = Array.from(
      { length: 30 },
      (_, at) =>
        `export function handle${i}_${at}(input: string) {\n  return input.length + ${at}; // a part of the flow\n}`,
    );
    writeFileSync(join(folder, `module${i}.ts`), `${lines.join("\n")}\n`);
  }
  const around = (from: number) =>
    Array.from({ length: 200 }, (_, at) => `const rate${from + at} = ${at};`).join("\n");
  const meant =
    "export function computeInvoiceTotal(lines) {\n  return lines.reduce((sum, line) => sum - line.price, 0);\n}";
  writeFileSync(
    join(root, "src", "area3", "part70", "billing.ts"),
    `${around(0)}\n${meant}\n${around(200)}\n`,
  );
  writeFileSync(join(root, ".gitignore"), "node_modules\ndist/\n*.log\n");
}
