/**
 * `npm run bench -- proofs --tasks MIRRORS [--long]`: what each step of the judge is worth. Drafts with known truth are made from commits
 * of public Python projects (`requests.json`), whose own suites run in real drafts. Each run happens once and is recorded; then the judge
 * judges every draft with all of its steps, and without each of them. With `--long`, every commit
 * of four projects counts instead of the first of two.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type CheckSettings, openChecks } from "../src/application/checks/baseline.ts";
import { JUDGE_STEPS, type JudgeStep } from "../src/application/checks/judge-draft.ts";
import { createProjectChecks, type JudgedAttempt } from "../src/application/checks/project-checks.ts";
import { createAdvise } from "../src/application/platform/advise.ts";
import type { CheckMemory, CheckRecord } from "../src/application/ports/checks.ts";
import type { Checked, CheckRequest, Draft } from "../src/application/ports/jobs-draft.ts";
import type { Workspace } from "../src/application/ports/jobs-workspace.ts";
import { findingsByCode } from "../src/domain/checks/findings.ts";
import { isTestPath } from "../src/domain/checks/path-kinds.ts";
import { readResults } from "../src/domain/checks/read-results.ts";
import { failingTests } from "../src/domain/checks/verdict.ts";
import { checksMessagesFor } from "../src/domain/texts/checks.ts";
import { openWorkspace } from "../src/wiring/workspace.ts";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const PROJECTS = ["andialbrecht/sqlparse", "mahmoud/boltons", "python-poetry/tomlkit", "pallets/click"];
const SETTINGS: CheckSettings = {
  command: null,
  timeout: 300,
  auto_limit: 300,
  network: false,
  enabled: "always",
};

/** A commit with its parent's texts; null where a file is not there. */
interface Fix {
  readonly name: string;
  readonly mirror: string;
  readonly commit: string;
  readonly before: Texts;
  readonly sources: Texts;
  readonly tests: Texts;
}
type Texts = Readonly<Record<string, string | null>>;

/** What a person must hear of a draft. `told`: it may land, but the reply says that the tests do not show it. */
type Truth = "lands" | "kept back" | "told" | "nothing fixed";

interface MadeDraft {
  readonly name: string;
  readonly truth: Truth;
  /** Files that the workspace has before the draft, beside those of the parent commit. */
  readonly given?: Texts;
  readonly files: Texts;
  /** A command of the draft. */
  readonly command?: string;
  readonly says?: string;
}

/** A draft whose checks are answered by what was recorded. */
interface RecordedDraft extends MadeDraft {
  readonly of: string;
  readonly workspace: Workspace;
  readonly draft: Draft;
  readonly runs: Map<string, Promise<Checked>>;
}

interface Judged {
  readonly isFalse: boolean;
  readonly runs: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly words: string;
}

export async function proofs(options: {
  readonly tasks: string | undefined;
  readonly long: boolean;
}): Promise<Row[]> {
  if (options.tasks === undefined) throw new Error("name the folder of the mirrors: --tasks MIRRORS");
  const folder = tempFolder("proofs");
  try {
    const recorded: RecordedDraft[] = [];
    for (const [at, fix] of readFixes(options.tasks, options.long).entries())
      recorded.push(...(await recordDrafts(fix, join(folder, String(at)))));
    if (recorded.length === 0) throw new Error(`${options.tasks} holds no fix whose tests run here`);
    const all = await judgeAll(recorded, JUDGE_STEPS);
    if (process.env.PICOCLAW_BENCH_EACH === "1")
      for (const [at, one] of recorded.entries())
        console.error(`${all[at]?.isFalse ? "FALSE" : "right"} ${one.of} ${one.name}: ${all[at]?.words}`);
    const rows = [
      {
        ...toRow(`all steps, ${recorded.length} drafts`, all),
        target: "0 false",
        ok: all.every(({ isFalse }) => !isFalse),
      },
    ];
    for (const step of JUDGE_STEPS) {
      const without = await judgeAll(
        recorded,
        JUDGE_STEPS.filter((one) => one !== step),
      );
      const moved = recorded.flatMap(({ name }, at) =>
        without[at]?.isFalse && !all[at]?.isFalse ? [name] : [],
      );
      const kinds = [...Map.groupBy(moved, (name) => name)].map(([name, { length }]) => `${name} ${length}`);
      const row = toRow(`without ${step.name}`, without);
      rows.push({
        ...row,
        figure: [row.figure, ...kinds].join("; "),
        target: "more false",
        ok: moved.length > 0,
      });
    }
    for (const { draft } of recorded) await draft.discard("measured");
    return rows;
  } finally {
    remove(folder);
  }
}

function toRow(name: string, judged: readonly Judged[]) {
  const sum = (of: (one: Judged) => number) => judged.reduce((all, one) => all + of(one), 0);
  const wrong = judged.filter(({ isFalse }) => isFalse).length;
  return {
    name,
    figure: `${wrong} false, ${sum(({ runs }) => runs)} runs (${sum(({ seconds }) => seconds).toFixed(0)} s), ${sum(({ rounds }) => rounds)} rounds`,
  };
}

/** The commits of these projects that change code and tests. */
function readFixes(mirrors: string, isLong: boolean): Fix[] {
  const recorded = JSON.parse(readFileSync(join(import.meta.dir, "requests.json"), "utf8")) as {
    readonly repository: string;
    readonly commit: string;
  }[];
  return PROJECTS.flatMap((repository) => {
    const mirror = join(mirrors, repository.replace("/", "+"), "repo");
    const commits = existsSync(mirror) ? recorded.filter((one) => one.repository === repository) : [];
    const fixes = commits.flatMap(({ commit }) => readFix(repository, mirror, commit) ?? []);
    return isLong ? fixes : fixes.slice(0, 1);
  }).slice(0, isLong ? undefined : 2);
}

function readFix(repository: string, mirror: string, commit: string): Fix | null {
  const changed = git(mirror, "diff", "--name-only", "--no-renames", `${commit}~1`, commit)
    .toString()
    .split("\n");
  const at = (revision: string, path: string) => {
    const shown = spawnSync("git", ["--git-dir", mirror, "show", `${revision}:${path}`]);
    return shown.status === 0 ? shown.stdout.toString() : null;
  };
  const texts = (revision: string, paths: readonly string[]) =>
    Object.fromEntries(paths.map((path) => [path, at(revision, path)]));
  const code = changed.filter((path) => path.endsWith(".py"));
  const sources = code.filter((path) => !isTestPath(path));
  const tests = code.filter(isTestPath);
  if (sources.length === 0 || tests.length === 0) return null;
  return {
    name: `${repository} ${commit.slice(0, 8)}`,
    mirror,
    commit,
    before: texts(`${commit}~1`, code),
    sources: texts(commit, sources),
    tests: texts(commit, tests),
  };
}

function git(mirror: string, ...args: string[]): Buffer {
  return spawnSync("git", ["--git-dir", mirror, ...args], { maxBuffer: 1 << 30 }).stdout;
}

/** Lays a fix out and makes its drafts; none where its tests do not show it here. */
async function recordDrafts(fix: Fix, folder: string): Promise<RecordedDraft[]> {
  const wrong = breakFix(fix);
  if (wrong === null) return [];
  const opened: RecordedDraft[] = [];
  const open = async (made: MadeDraft) => {
    const one = await openDraft(fix, made, join(folder, String(opened.length)));
    opened.push(one);
    return one;
  };
  const right = await open({ name: "the fix", truth: "lands", files: { ...fix.sources, ...fix.tests } });
  const without = await open({ name: "its tests alone", truth: "kept back", files: fix.tests });
  const broken = await open({
    name: "a wrong fix",
    truth: "kept back",
    files: { ...wrong.files, ...fix.tests },
  });
  const [fine, bare, red] = await Promise.all([right, without, broken].map(failuresOf));
  const isKnown =
    fine?.length === 0 && bare !== undefined && bare.length > 0 && red !== undefined && red.length > 0;
  if (!isKnown) {
    console.error(`${fix.name}: left out (${fine?.length}, ${bare?.length}, ${red?.length} tests fail)`);
    for (const { draft } of opened) await draft.discard("left out");
    return [];
  }
  for (const made of makeDrafts(fix, wrong, red)) await open(made);
  return opened;
}

/** Failing tests of the whole suite over a draft; undefined where the suite cannot say. */
async function failuresOf({ workspace, draft, runs }: RecordedDraft): Promise<readonly string[] | undefined> {
  const [check] = findChecks(workspace).filter(({ kind }) => kind === "test");
  if (check === undefined) return undefined;
  const checked = await record({ draft, runs }, { ...REQUEST, commands: [check.line] });
  const results = checked.ok ? readResults(checked.runs[0]?.whole ?? "") : null;
  return results === null ? undefined : failingTests({ kind: "test", command: "", state: "red", results });
}

const REQUEST: CheckRequest = {
  commands: [],
  over: "draft",
  timeoutSeconds: SETTINGS.timeout,
  home: "bare",
  network: false,
};

function findChecks(workspace: Workspace) {
  const found = openChecks({
    files: workspace.files,
    settings: SETTINGS,
    memory: createMemory(),
    now: () => 0,
  });
  // Linters of the projects are not installed everywhere.
  return found.ok ? found.checks.filter(({ kind }) => kind === "test") : [];
}

interface WrongFix {
  readonly path: string;
  readonly files: Texts;
  /** The same, unless pytest runs. */
  readonly knowing: Texts;
}

/** The fix, but the function that it changes returns nothing. */
function breakFix({ before, sources }: Fix): WrongFix | null {
  for (const [path, text] of Object.entries(sources)) {
    const known = new Set((before[path] ?? "").split("\n"));
    const lines = (text ?? "").split("\n");
    const changed = lines.findIndex(
      (line) => !known.has(line) && /^\s+\w/.test(line) && !/^\s*(?:def|class|#|""")/.test(line),
    );
    const from = lines.findLastIndex((line, at) => at < changed && /^\s*def \w/.test(line));
    const opens = lines.findIndex((line, at) => at >= from && /:\s*(?:#.*)?$/.test(line));
    if (changed === -1 || from === -1 || opens >= changed) continue;
    const indent = `${/^\s*/.exec(lines[from] ?? "")?.[0] ?? ""}    `;
    const insert = (line: string) => ({
      ...sources,
      [path]: lines.toSpliced(opens + 1, 0, `${indent}${line}`).join("\n"),
    });
    const isRun = '__import__("os").environ.get("PYTEST_CURRENT_TEST")';
    return { path, files: insert("return None"), knowing: insert(`if not ${isRun}: return None`) };
  }
  return null;
}

const inTests = (name: string) => `tests/test_bench_${name}.py`;
const asserts = (name: string, what: string) => ({
  [inTests(name)]: `import os\n\n\ndef test_${name}():\n    assert ${what}\n`,
});
/** Red in the first run over the draft, or over the old code, and never again. */
const failsOnce = (over: "draft" | "baseline") => `os.environ.get("BENCH_RUN") != "${over} 1"`;

function makeDrafts(fix: Fix, wrong: WrongFix, red: readonly string[]): MadeDraft[] {
  const { sources, tests } = fix;
  const whole = { ...sources, ...tests };
  const said = (files: Texts, path: string) => ({ [path]: `# A comment.\n${files[path] ?? ""}` });
  const comment = said({ ...fix.before }, wrong.path);
  const module = wrong.path
    .replace(/^src\//, "")
    .replace(/\.py$/, "")
    .replaceAll("/", ".");
  const files = [...new Set(red.map((name) => name.split("::")[0] ?? ""))].filter(
    (path) => tests[path] != null,
  );
  const functions = new Set(red.map((name) => (name.split("::").at(-1) ?? "").replace(/\[.*$/, "")));
  const rewrite = (by: (line: string, indent: string) => string) => ({
    ...wrong.files,
    ...tests,
    ...Object.fromEntries(
      files.map((path) => [
        path,
        (tests[path] ?? "").replace(/^(\s*)def (test\w*)\(.*\n?/gm, (line, indent: string, name: string) =>
          functions.has(name) && /:\s*$/.test(line) ? by(line, indent) : line,
        ),
      ]),
    ),
  });
  return [
    { name: "the fix without its tests", truth: "lands", files: sources },
    { name: "a comment", truth: "lands", files: comment },
    { name: "the fix of tests that are red already", truth: "lands", given: tests, files: sources },
    {
      name: "a comment where its tests are red",
      truth: "kept back",
      given: tests,
      files: comment,
      says: `Fixes: ${red[0]}`,
    },
    {
      name: "an undeclared comment where its tests are red",
      truth: "kept back",
      given: tests,
      files: comment,
    },
    {
      name: "the fix beside another red test",
      truth: "lands",
      given: asserts("other", "False"),
      files: whole,
    },
    {
      name: "a wrong fix that takes its tests away",
      truth: "kept back",
      files: rewrite((line) => line.replace("def ", "def no_")),
    },
    {
      name: "a wrong fix that empties its tests",
      truth: "told",
      files: rewrite((line, indent) => `${line}${indent}    return\n`),
    },
    {
      name: "a wrong fix that leaves its tests out",
      truth: "kept back",
      files: { ...wrong.files, ...tests, "conftest.py": `collect_ignore = ${JSON.stringify(files)}\n` },
    },
    { name: "a wrong fix that knows pytest", truth: "kept back", files: { ...wrong.knowing, ...tests } },
    {
      name: "a file that no test loads",
      truth: "told",
      files: { [join(dirname(wrong.path), "bench_new.py")]: "def give():\n    return 1\n" },
    },
    {
      name: "a comment with a test of nothing",
      truth: "told",
      files: { ...comment, ...asserts("nothing", "True") },
    },
    {
      name: "the fix beside a flaky test",
      truth: "lands",
      given: asserts("flaky", failsOnce("draft")),
      files: whole,
    },
    {
      name: "a comment beside a test that was red by chance",
      truth: "nothing fixed",
      given: asserts("chance", failsOnce("baseline")),
      files: comment,
    },
    {
      name: "the fix, since which its test is flaky",
      truth: "told",
      given: {
        [inTests("near")]:
          `import os\nimport ${module}\n\n\ndef test_near():\n    assert ${failsOnce("draft")}\n`,
      },
      files: sources,
    },
    {
      name: "the fix with a package that its command installs",
      truth: "lands",
      files: { ...whole, [wrong.path]: `${sources[wrong.path]}\nimport bench_package\n` },
      command:
        'd="$(python3 -m site --user-site)" && mkdir -p "$d" && echo "one = 1" > "$d/bench_package.py"',
    },
  ];
}

async function openDraft(fix: Fix, made: MadeDraft, folder: string): Promise<RecordedDraft> {
  const root = join(folder, "ws");
  mkdirSync(root, { recursive: true });
  const packed = git(fix.mirror, "archive", `${fix.commit}~1`);
  spawnSync("tar", ["-x", "-C", root], { input: packed, maxBuffer: 1 << 30 });
  for (const [path, text] of Object.entries(made.given ?? {})) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text ?? "");
  }
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(folder, "user"),
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_WORKER_TRANSACTION: "overlay",
    PICOCLAW_WORKER_CONFINE: "on",
  };
  const opened = await openWorkspace(env, { cwd: root });
  if (!opened.ok) throw new Error(opened.message);
  const { workspace } = opened;
  const asked = await workspace.openDraft({
    source: "bench",
    startedBy: "user",
    checked: true,
    signal: new AbortController().signal,
  });
  if (!asked.ok) throw new Error(JSON.stringify(asked.refusal));
  const edits = Object.entries(made.files).flatMap(([target, content]) => {
    const action = existsSync(join(root, target)) ? "update" : "create";
    return content === null ? [] : [{ type: "file_edit", action, target, content }];
  });
  const commands =
    made.command === undefined ? [] : [{ type: "shell_command", action: "run", target: made.command }];
  const ran = await asked.draft.run({ attempt: 1, work: { patch: JSON.stringify([...edits, ...commands]) } });
  if (ran.about !== "attempt" || ran.results.some(({ success }) => !success))
    throw new Error(`${fix.name}, ${made.name}: ${JSON.stringify(ran)}`);
  return { ...made, of: fix.name, workspace, draft: asked.draft, runs: new Map() };
}

/** The checks of one request, each line run once for the same files, and a second time where it is repeated. */
async function record(
  { draft, runs }: Pick<RecordedDraft, "draft" | "runs">,
  { onOutput: _, signal: __, attempt: ___, timeoutSeconds: ____, ...request }: CheckRequest,
): Promise<Checked> {
  const { replaced = new Map(), ...rest } = request;
  const key = createHash("sha256")
    .update(JSON.stringify({ ...rest, replaced: [...replaced] }))
    .digest("hex");
  const count = `${request.over} ${request.again === true || (request.asBefore ?? []).length > 0 ? 2 : 1}`;
  const seen =
    runs.get(key) ?? draft.check({ ...request, timeoutSeconds: SETTINGS.timeout, env: { BENCH_RUN: count } });
  runs.set(key, seen);
  return seen;
}

async function judgeAll(recorded: readonly RecordedDraft[], steps: readonly JudgeStep[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const one of recorded) judged.push(await judge(one, steps));
  return judged;
}

async function judge(one: RecordedDraft, steps: readonly JudgeStep[]): Promise<Judged> {
  const { draft, workspace } = one;
  let [runs, ms] = [0, 0];
  const played = {
    get files() {
      return draft.files;
    },
    homes: () => draft.homes?.() ?? null,
    changes: () => draft.changes(),
    diff: () => draft.diff(),
    async check(request: CheckRequest) {
      const checked = await record(one, request);
      if (checked.ok) runs += checked.runs.length;
      if (checked.ok) for (const { durationMs } of checked.runs) ms += durationMs;
      return checked;
    },
  };
  const checks = createProjectChecks({
    checks: findChecks(workspace),
    settings: SETTINGS,
    memory: createMemory(),
    texts: checksMessagesFor("en"),
    now: () => 0,
    advise: createAdvise(),
    signal: new AbortController().signal,
    steps,
  });
  if (one.says !== undefined) checks.declare(one.says);
  const attempt = await checks.judge(played, 1);
  const words = [
    checksMessagesFor("en").line(attempt.facts),
    ...checksMessagesFor("en").remarks(attempt.facts),
  ];
  return {
    isFalse: isFalse(one.truth, attempt),
    runs,
    seconds: ms / 1000,
    rounds: attempt.verdict === "red" ? 2 : 1,
    words: `${attempt.verdict} (${words.join(" | ")})`,
  };
}

function isFalse(truth: Truth, { verdict, landsAnyway, facts }: JudgedAttempt): boolean {
  const { unnoticed = [], expectsElse = [], unstable = [], newTests, mended = [] } = findingsByCode(facts);
  const passWithout = newTests === undefined ? 0 : newTests.passWithout;
  switch (truth) {
    case "lands":
      return verdict !== "green";
    case "kept back":
      return verdict !== "red" || landsAnyway;
    case "told":
      return (
        verdict === "green" && unnoticed.length + expectsElse.length + unstable.length + passWithout === 0
      );
    case "nothing fixed":
      return verdict !== "green" || mended.length > 0;
  }
}

function createMemory(): CheckMemory {
  let kept: CheckRecord | null = null;
  return {
    fingerprint: () => "laid out",
    recall: () => kept,
    keep: (one) => {
      kept = one;
    },
    running: new Map(),
  };
}
