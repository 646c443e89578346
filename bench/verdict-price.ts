/**
 * The price of a verdict: the time of all checks of a message, against one run of the whole suite in the same conversation. With
 * `--tasks PROJECTS` those of real projects instead: each a repository `NAME` with its dependencies, beside `NAME.fix.diff`, a change
 * with a test, and, where there is one, `NAME.wrong.diff`, an attempt at it that breaks tests. `PICOCLAW_BENCH_EACH=1` lists every run.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isTestPath } from "../src/domain/checks/path-kinds.ts";
import { proposal, replace } from "../test/application/chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../test/application/chat/conversation-kit.ts";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

/** A suite of known length: its tests sleep, so that a busy machine changes the figures little. */
interface Suite {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly source: string;
  readonly test: string;
  readonly before: string;
  readonly broken: string;
  readonly right: string;
  readonly newTest: readonly [string, string];
}

const MODULES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const SLEEP_MS = 1000;

function pytestSuite(): Suite {
  const files: Record<string, string> = { "pyproject.toml": "[tool.pytest.ini_options]\n" };
  for (const name of MODULES) {
    files[`src/mod_${name}.py`] = "def give():\n    return 1\n";
    files[`tests/test_${name}.py`] =
      `import time\nfrom mod_${name} import give\n\n\ndef test_${name}():\n    time.sleep(${SLEEP_MS / 1000})\n    assert give() == 1\n`;
  }
  return {
    name: "pytest",
    files,
    source: "src/mod_a.py",
    test: "tests/test_a.py",
    before: "    return 1",
    broken: "    return 2",
    right: "    return 2 - 1\n\n\ndef more():\n    return give() + 1",
    newTest: [
      "    assert give() == 1",
      "    assert give() == 1\n\n\ndef test_more():\n    from mod_a import more\n    assert more() == 2",
    ],
  };
}

function nodeSuite(): Suite {
  const script = "node --test --test-concurrency=1";
  const files: Record<string, string> = {
    "package.json": JSON.stringify({ type: "module", scripts: { test: script } }),
  };
  for (const name of MODULES) {
    files[`src/${name}.mjs`] = "export const give = () => 1;\n";
    files[`test/${name}.test.mjs`] = [
      'import { test } from "node:test";',
      'import assert from "node:assert";',
      `import * as own from "../src/${name}.mjs";`,
      `test("${name}", async () => {`,
      `  await new Promise((resolve) => setTimeout(resolve, ${SLEEP_MS}));`,
      "  assert.equal(own.give(), 1);",
      "});\n",
    ].join("\n");
  }
  return {
    name: "node --test",
    files,
    source: "src/a.mjs",
    test: "test/a.test.mjs",
    before: "export const give = () => 1;",
    broken: "export const give = () => 2;",
    right: "export const give = () => 2 - 1;\nexport const more = () => give() + 1;",
    newTest: ["});", '});\ntest("more", () => assert.equal(own.more(), 2));'],
  };
}

interface Price {
  /** Seconds of all runs of checks, and their number. */
  readonly seconds: number;
  readonly runs: number;
  /** Of the longest run over the code as it was: the whole suite. */
  readonly wholeSeconds: number;
}

function runsOf(at: OpenedConversation) {
  return at.archive
    .list()
    .flatMap(({ jobId }) => at.archive.events(jobId))
    .flatMap(({ event }) => (event.type === "check_finished" ? [event] : []));
}

async function priceOf(suite: Suite, answers: readonly string[], config = ""): Promise<Price> {
  const at = await openConversation((_, number) => answers[number] ?? "Nothing to add.", { config });
  try {
    for (const [path, text] of Object.entries(suite.files)) at.write(path, text);
    const reply = await at.send(`/code3 change ${suite.source}`);
    if (!reply.ok) throw new Error(reply.text);
    const runs = runsOf(at);
    const baselines = runs.filter(({ over }) => over === "baseline").map(({ duration }) => duration);
    return {
      seconds: runs.reduce((sum, { duration }) => sum + duration, 0) / 1000,
      runs: runs.length,
      wholeSeconds: Math.max(0, ...baselines) / 1000,
    };
  } finally {
    await at.close();
  }
}

export async function verdictPrice({ tasks }: { readonly tasks: string | undefined }): Promise<Row[]> {
  if (tasks !== undefined) return realPrices(tasks);
  const rows: Row[] = [];
  for (const suite of [pytestSuite(), nodeSuite()]) {
    const { source, before, broken, right, test, newTest } = suite;
    const feature = `${replace(source, before, right)}\n${replace(test, ...newTest)}`;
    const green = await priceOf(suite, [proposal("Add", feature)]);
    const repaired = await priceOf(suite, [
      proposal("Try", replace(source, before, broken)),
      proposal("Add", `${replace(source, broken, right)}\n${replace(test, ...newTest)}`),
    ]);
    const whole = green.wholeSeconds;
    const slow = "checks: { auto_limit: 5 }\n";
    const alone = await priceOf(suite, [proposal("Add", feature)], slow);
    const row = (name: string, { seconds, runs }: Price, ratio: number, most: number): Row => ({
      name: `${suite.name}, ${name}`,
      figure: `${ratio.toFixed(2)} (${runs} runs, ${seconds.toFixed(1)} s; whole ${whole.toFixed(1)} s)`,
      target: `≤ ${most}`,
      ok: ratio <= most,
    });
    rows.push(
      row("all checks of a green change with a test / one run", green, green.seconds / whole, 2.2),
      row("… where the affected tests decide", alone, alone.seconds / whole, 1.3),
      row(
        "… a red attempt more",
        repaired,
        repaired.seconds / repaired.wholeSeconds - green.seconds / whole,
        0.5,
      ),
    );
  }
  return rows;
}

/** A real project as it was before a change, and the attempts of a coder at the change as diffs, each over the one before. */
interface Change {
  readonly name: string;
  readonly folder: string;
  readonly green: readonly string[];
  /** First its tests alone, which fail. */
  readonly testsFirst: readonly string[];
  /** First an attempt that breaks tests. */
  readonly wrongFirst: readonly string[] | null;
}

/** The model thinks until the baseline is there, and not longer than this. */
const THINKS_MS = 60_000;
const WHOLE_RUNS = 2;

async function realPrices(folder: string): Promise<Row[]> {
  const names = readdirSync(folder).filter((name) => existsSync(join(folder, `${name}.fix.diff`)));
  const scratch = tempFolder("verdict");
  const rows: Row[] = [];
  try {
    for (const name of names.toSorted()) rows.push(...(await pricesOfProject(folder, name, scratch)));
    return rows;
  } finally {
    remove(scratch);
  }
}

async function pricesOfProject(folder: string, name: string, scratch: string): Promise<Row[]> {
  const { green, testsFirst, wrongFirst, ...project } = layOut(folder, name, scratch);
  const played = await play(project, green);
  const whole = wholeSeconds(project.folder, played.line);
  const row = (what: string, { seconds, runs, said }: Played, ratio: number, most: number): Row => ({
    name: `${name}, ${what}`,
    figure: `${ratio.toFixed(2)} (${runs} runs, ${seconds.toFixed(1)} s; whole ${whole.toFixed(1)} s) ${said.replaceAll("|", "/")}`,
    target: `≤ ${most}`,
    ok: ratio <= most,
  });
  const rows = [row("all checks of a green change / one warm run", played, played.seconds / whole, 2.2)];
  const attempts = [
    ["… first its tests alone, more", testsFirst],
    ["… first an attempt that breaks tests, more", wrongFirst],
  ] as const;
  for (const [what, diffs] of attempts) {
    if (diffs === null) continue;
    const red = await play(project, diffs);
    rows.push(row(what, red, (red.seconds - played.seconds) / whole, 0.5));
  }
  return rows;
}

function git(folder: string, args: readonly string[], input = ""): string {
  // Without the hooks that a package installed.
  const own = ["user.name=bench", "user.email=bench@example.org", "core.hooksPath=/dev/null"];
  const all = ["-C", folder, ...own.flatMap((setting) => ["-c", setting]), ...args];
  const ran = spawnSync("git", all, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  if (ran.status !== 0) throw new Error(`git ${args.join(" ")} in ${folder}: ${ran.stderr}`);
  return ran.stdout;
}

/** The project at its first commit, with the dependencies that git does not know, and the diffs of the attempts. */
function layOut(projects: string, name: string, scratch: string): Change {
  const folder = join(scratch, name);
  cpSync(realpathSync(join(projects, name)), folder, { recursive: true, verbatimSymlinks: true });
  const base = git(folder, ["rev-list", "--max-parents=0", "HEAD"]).trim();
  git(folder, ["checkout", "-qf", base]);
  git(folder, ["clean", "-fdq", "-e", ".venv", "-e", "node_modules"]);
  const apply = (path: string, isPart: (path: string) => boolean = () => true) => {
    const text = readFileSync(path, "utf8");
    const parts = text
      .split(/^(?=diff --git )/m)
      .filter((part) => isPart(/ b\/(\S+)$/m.exec(part)?.[1] ?? ""));
    git(folder, ["apply", "--index"], parts.join(""));
  };
  const commit = (message: string) => {
    git(folder, ["commit", "-qm", message]);
    return git(folder, ["rev-parse", "HEAD"]).trim();
  };
  const diff = (from: string, to: string) => git(folder, ["diff", "--no-renames", from, to]);
  const fixed = join(projects, `${name}.fix.diff`);
  const isJudged = (path: string) => !path.endsWith(".md") && !path.endsWith(".rst");
  apply(fixed, isJudged);
  const right = commit("right");
  git(folder, ["checkout", "-qf", base]);
  apply(fixed, isTestPath);
  const tests = commit("tests");
  const wrongDiff = join(projects, `${name}.wrong.diff`);
  let wrong: string | null = null;
  if (existsSync(wrongDiff)) {
    apply(wrongDiff);
    wrong = commit("wrong");
  }
  const attempts = {
    green: [diff(base, right)],
    testsFirst: [diff(base, tests), diff(tests, right)],
    wrongFirst: wrong === null ? null : [diff(base, wrong), diff(wrong, right)],
  };
  git(folder, ["checkout", "-qf", base]);
  return { name, folder, ...attempts };
}

interface Played {
  readonly seconds: number;
  readonly runs: number;
  /** What was run over the code as it was. */
  readonly line: string;
  /** The first line of the reply. */
  readonly said: string;
}

function environmentOf(folder: string) {
  return { PATH: `${join(folder, ".venv/bin")}:${process.env.PATH ?? ""}`, GOFLAGS: "" };
}

async function play({ name, folder }: Pick<Change, "name" | "folder">, diffs: readonly string[]) {
  let measured = () => true;
  const answer = async (number: number) => {
    const until = performance.now() + THINKS_MS;
    while (!measured() && performance.now() < until) await new Promise((after) => setTimeout(after, 100));
    const diff = diffs[number];
    return diff === undefined ? "Nothing to add." : proposal("Fix it", `\`\`\`diff\n${diff}\`\`\``);
  };
  // The home of the user has the caches of its tools.
  const env = { ...environmentOf(folder), HOME: process.env.HOME ?? "" };
  const at = await openConversation((_, number) => answer(number), { env });
  try {
    cpSync(folder, at.workspace, { recursive: true, verbatimSymlinks: true });
    measured = () => runsOf(at).some(({ over }) => over === "baseline");
    const reply = await at.send("/code3 fix what the tests show");
    const runs = runsOf(at);
    if (process.env.PICOCLAW_BENCH_EACH === "1") {
      const words = runs.map(
        ({ attempt, over, altered, duration, exit_code: code, command }) =>
          `  ${attempt} ${over}${altered === true ? " altered" : ""} ${(duration / 1000).toFixed(1)} s, exit ${code}: ${command.slice(0, 300)}`,
      );
      console.error([name, ...words, `  ${reply.text.replaceAll("\n", "\n    ")}`].join("\n"));
    }
    return {
      seconds: runs.reduce((sum, { duration }) => sum + duration, 0) / 1000,
      runs: runs.length,
      line: runs.find(({ over }) => over === "baseline")?.command ?? "false",
      said: reply.text.split("\n", 1)[0] ?? "",
    };
  } finally {
    await at.close();
  }
}

/** The last of some runs of the suite, without a sandbox and without results that the tool remembers. */
function wholeSeconds(folder: string, line: string): number {
  let seconds = 0;
  for (let run = 0; run < WHOLE_RUNS; run++) {
    const from = performance.now();
    const own = environmentOf(folder);
    const env = { ...process.env, ...own, GOFLAGS: `${own.GOFLAGS} -count=1` };
    spawnSync("bash", ["-c", line], { cwd: folder, env, stdio: "ignore" });
    seconds = (performance.now() - from) / 1000;
  }
  return seconds;
}
