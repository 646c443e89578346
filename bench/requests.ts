/**
 * `npm run bench -- requests --tasks MIRRORS [--long]`: what the first request to a coder shows, over requests made from commits of public projects,
 * whose true fix is known. MIRRORS holds a bare repository `OWNER+NAME/repo` for each. There are three sets: 60 requests, 41 of projects
 * above 300 files, and long ones in full sentences, of which each has a row. With `--long`, a row
 * a step of the context says what it is worth: the same figures without it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CONTEXT_STEPS, coderContext, contextBudget } from "../src/application/coder/coder-context.ts";
import type { ProjectFiles } from "../src/application/ports/drafts.ts";
import { definitionsOf } from "../src/domain/coder/file-excerpts.ts";
import { fileKind } from "../src/domain/coder/rank-files.ts";
import { createProjectFiles } from "../src/tools/read/project-files.ts";
import { openWorkspace } from "../src/wiring/workspace.ts";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

interface RecordedRequest {
  readonly repository: string;
  readonly commit: string;
  readonly request: string;
  /** Its name, if it is one of the long requests. */
  readonly task?: string;
}

/** The true fix: the lines of sources that it changes, as they were before, and everything that it names. */
interface TrueFix {
  readonly lines: readonly { readonly path: string; readonly line: number }[];
  readonly paths: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
}

interface LaidRequest extends RecordedRequest {
  readonly project: ProjectFiles;
  readonly fix: TrueFix;
}

interface ShownFigures {
  readonly found: number;
  readonly lines: number;
  readonly bytes: number;
  readonly fileBytes: number;
  readonly useless: number;
}

export async function requests({
  tasks: mirrors,
  long,
}: {
  readonly tasks: string | undefined;
  readonly long: boolean;
}): Promise<Row[]> {
  if (mirrors === undefined) throw new Error("name the folder of the mirrors: --tasks MIRRORS");
  const folder = tempFolder("requests");
  try {
    const small = await layAll("requests.json", mirrors, folder);
    const large = await layAll("requests-large.json", mirrors, folder);
    const tasks = large.filter(({ task }) => task !== undefined);
    const sets: readonly (readonly [string, readonly LaidRequest[]])[] = [
      [`${small.length} recorded requests`, small],
      [
        `${large.length - tasks.length} of projects above 300 files`,
        large.filter(({ task }) => task === undefined),
      ],
      [`${tasks.length} long requests`, tasks],
    ];
    if (process.env.PICOCLAW_BENCH_EACH === "1")
      for (const one of [...small, ...large]) console.error(wordOne(one));
    return [
      ...sets.flatMap(([name, laid]) => rowsOf(name, laid, long)),
      ...tasks.map((one): Row => {
        const { found, lines, bytes, fileBytes, useless } = figuresOf(one, CONTEXT_STEPS);
        const share = useless / Math.max(1, fileBytes);
        return {
          name: `  ${one.task}`,
          figure: `${found} of ${lines} lines, ${(share * 100).toFixed(0)} % useless, ${(bytes / 1_000).toFixed(1)} kB`,
          target: "≥ 90 %, ≤ 30 %, ≤ 40 kB",
          ok: found >= lines * 0.9 && share <= 0.3 && bytes <= 40_000,
        };
      }),
    ];
  } finally {
    remove(folder);
  }
}

async function layAll(name: string, mirrors: string, folder: string): Promise<LaidRequest[]> {
  const recorded = JSON.parse(readFileSync(join(import.meta.dir, name), "utf8")) as RecordedRequest[];
  const laid: LaidRequest[] = [];
  for (const [at, one] of recorded.entries()) {
    const mirror = join(mirrors, one.repository.replace("/", "+"), "repo");
    if (existsSync(mirror)) laid.push(await lay(one, mirror, join(folder, name, String(at))));
  }
  return laid;
}

function rowsOf(name: string, laid: readonly LaidRequest[], long: boolean): Row[] {
  const all = measure(laid, CONTEXT_STEPS);
  const bound: Row = {
    name: `first request, ${name}`,
    figure: wordSums(all),
    target: "≥ 90 % of the fix, ≤ 30 % useless, ≤ 40 kB",
    ok: all.share >= 0.9 && all.useless <= 0.3 && all.median <= 40_000,
  };
  const without = (long ? CONTEXT_STEPS : []).map((step): Row => {
    const figure = wordSums(
      measure(
        laid,
        CONTEXT_STEPS.filter((one) => one !== step),
      ),
    );
    return { name: `without ${step.name}`, figure, target: "differs", ok: figure !== wordSums(all) };
  });
  return [bound, ...without];
}

async function lay(one: RecordedRequest, mirror: string, folder: string): Promise<LaidRequest> {
  const root = join(folder, "ws");
  mkdirSync(root, { recursive: true });
  const git = (...args: string[]) =>
    spawnSync("git", ["--git-dir", mirror, ...args], { maxBuffer: 1 << 30 }).stdout;
  spawnSync("tar", ["-x", "-C", root], { input: git("archive", `${one.commit}~1`), maxBuffer: 1 << 30 });
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") };
  const opened = await openWorkspace(env, { cwd: root });
  if (!opened.ok) throw new Error(opened.message);
  const project = createProjectFiles(opened.workspace, opened.deps.planOptions);
  return {
    ...one,
    // A busy machine must not change the figures.
    project: { ...project, find: (paths, words) => project.find(paths, words, 60_000) },
    fix: readFix(git("diff", "-U0", "--no-renames", `${one.commit}~1`, one.commit).toString()),
  };
}

function readFix(diff: string): TrueFix {
  const lines: { path: string; line: number }[] = [];
  const paths = new Set<string>();
  const names = new Set<string>();
  let [path, made] = ["", ""];
  for (const text of diff.split("\n")) {
    const file = /^diff --git a\/(.*) b\//.exec(text)?.[1];
    if (file !== undefined) path = file;
    if (file !== undefined) paths.add(path);
    const hunk = /^@@ -(\d+)(?:,(\d+))? /.exec(text);
    if (text.startsWith("new file mode")) made = path;
    // A file that the fix makes has no lines that could be shown.
    if (fileKind(path) !== "source" || path === made) continue;
    if (hunk !== null) {
      const [from, count] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
      // What is added belongs to the line that it follows.
      for (let at = 0; at < Math.max(1, count); at++) lines.push({ path, line: Math.max(1, from + at) });
    } else if (/^[+-](?![+-])/.test(text))
      for (const [name] of text.matchAll(/[A-Za-z_$][\w$]{3,}/g)) names.add(name);
  }
  return { lines, paths, names };
}

type Steps = typeof CONTEXT_STEPS;

interface Sums {
  /** Of the lines of the fix, the mean over all requests. */
  readonly share: number;
  /** Of the bytes of files. */
  readonly useless: number;
  readonly median: number;
  readonly whole: number;
}

function measure(laid: readonly LaidRequest[], steps: Steps): Sums {
  const figures = laid.map((one) => figuresOf(one, steps));
  const sorted = figures.map(({ bytes }) => bytes).sort((a, b) => a - b);
  const sum = (of: (one: ShownFigures) => number) => figures.reduce((all, one) => all + of(one), 0);
  return {
    share: sum(({ found, lines }) => found / Math.max(1, lines)) / figures.length,
    useless:
      sum(({ useless }) => useless) /
      Math.max(
        1,
        sum(({ fileBytes }) => fileBytes),
      ),
    median: sorted[Math.floor(sorted.length / 2)] ?? 0,
    whole: figures.filter(({ found, lines }) => found === lines).length,
  };
}

function wordSums({ share, useless, median, whole }: Sums): string {
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
  return `${percent(share)} of the fix's lines (${whole} whole), ${percent(useless)} of the bytes useless, median ${(median / 1000).toFixed(1)} kB`;
}

const ELEMENT = /<file path="([^"\n]+)"(?: lines="([^"]*) of \d+")?[^>]*>\n([\s\S]*?)\n?<\/file>/g;

function figuresOf({ request, project, fix }: LaidRequest, steps: Steps): ShownFigures {
  const text = coderContext(project, { request, budget: contextBudget({ local: false }, "full"), steps });
  const shown = new Map<string, (line: number) => boolean>();
  let [fileBytes, useless] = [0, 0];
  for (const [whole, path = "", ranges] of text.matchAll(ELEMENT)) {
    const parts = ranges?.split(",").map((part) => part.split("-").map(Number)) ?? null;
    shown.set(
      path,
      (line) => parts === null || parts.some(([from = 0, to = from]) => line >= from && line <= to),
    );
    fileBytes += whole.length;
    if (!isUseful(project, path, fix)) useless += whole.length;
  }
  const found = fix.lines.filter(({ path, line }) => shown.get(path)?.(line) === true).length;
  return { found, lines: fix.lines.length, bytes: text.length, fileBytes, useless };
}

/** The fix changes the file, or uses a name that the file defines. */
function isUseful(project: ProjectFiles, path: string, fix: TrueFix): boolean {
  if (fix.paths.has(path)) return true;
  if (fileKind(path) !== "source") return false;
  const text = project.read(path, 2_000_000)?.text ?? "";
  return definitionsOf(text.split("\n"), path).some(({ name }) => fix.names.has(name));
}

function wordOne(one: LaidRequest): string {
  const { found, lines, bytes, fileBytes, useless } = figuresOf(one, CONTEXT_STEPS);
  const text = coderContext(one.project, {
    request: one.request,
    budget: contextBudget({ local: false }, "full"),
  });
  const shown = [...text.matchAll(ELEMENT)].map(
    ([whole, path = ""]) =>
      `${path} ${whole.length}${isUseful(one.project, path, one.fix) ? "" : " in vain"}`,
  );
  const missed = [...new Set(one.fix.lines.map(({ path }) => path))];
  return `${one.repository} ${one.commit.slice(0, 8)} ${found}/${lines} lines, ${bytes} bytes, ${useless}/${fileBytes} useless\n  ${JSON.stringify(one.request.slice(0, 200))}\n  fix: ${missed.join(", ")}\n  shown: ${shown.join(", ")}`;
}
