/**
 * The fixes of `judged.json`: public projects with commits that change sources and tests. In: a folder of their bare mirrors
 * (`OWNER+NAME/repo`) and a folder for projects that are set up once. Out: a repository as it was before a fix, with its dependencies,
 * the fix's texts and diffs, and what the project's whole suite says of any texts laid over it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isCodePath, isDocumentation, isTestPath } from "../src/domain/checks/path-kinds.ts";
import { readResults } from "../src/domain/checks/read-results.ts";
import { runLimited } from "./exercises-tasks.ts";

/** A commit's files; null where a file is not there. */
export type Texts = Readonly<Record<string, string | null>>;

interface Project {
  readonly repository: string;
  readonly language: string;
  /** Hundreds of source files: its fixes are played last. */
  readonly large?: boolean;
  /** Installs what the suite needs; it may use the network. */
  readonly setup: string;
  /** What it installs lies in the user's home, so that it runs for each fix. */
  readonly inHome?: boolean;
  /** The project's whole test suite, or the part that its README calls so. */
  readonly suite: string;
}
interface FixedProject extends Project {
  readonly fixes: readonly string[];
}
/** A project of `judged-unseen.json`: one of its files is changed at this commit. */
interface UnseenProject extends Project {
  readonly commit: string;
  readonly file: string;
}

export interface Fix {
  /** `qs/b433a9b` */
  readonly name: string;
  readonly project: Project;
  /** What the project is laid out from: the commit before the fix. */
  readonly base: string;
  readonly mirror: string;
  /** Of the first fix of its project, which has mutants. */
  readonly isFirst: boolean;
  /** The first line of the commit's message, without the number of a pull request. */
  readonly subject: string;
  readonly sources: Texts;
  readonly tests: Texts;
}

export const projectOf = ({ repository }: Project): string => repository.split("/")[1] ?? repository;

/** The fixes whose mirrors are there, those of large projects last. */
export function findFixes(mirrors: string): Fix[] {
  const known = readProjects<FixedProject>("judged.json", mirrors);
  const rounds = Math.max(...known.map(({ fixes }) => fixes.length));
  const inTurns = (isLarge: boolean) =>
    Array.from({ length: rounds }, (_, round) =>
      known
        .filter(({ large = false }) => large === isLarge)
        .flatMap((project) => {
          const commit = project.fixes[round];
          return commit === undefined
            ? []
            : [readFix(project, mirrorOf(mirrors, project.repository), commit)];
        }),
    ).flat();
  return [...inTurns(false), ...inTurns(true)];
}

export interface Unseen extends Fix {
  readonly file: string;
}

/** Projects that nothing was adapted to, each at one commit: nothing is fixed there. */
export function findUnseen(mirrors: string): Unseen[] {
  return readProjects<UnseenProject>("judged-unseen.json", mirrors).map((project) => ({
    name: `${projectOf(project)}/${project.commit}`,
    project,
    base: project.commit,
    mirror: mirrorOf(mirrors, project.repository),
    isFirst: false,
    subject: `Look at ${project.file}`,
    sources: {},
    tests: {},
    file: project.file,
  }));
}

function readProjects<Kind extends Project>(list: string, mirrors: string): Kind[] {
  const projects = JSON.parse(readFileSync(join(import.meta.dir, list), "utf8")) as Kind[];
  const known = projects.filter(({ repository }) => existsSync(mirrorOf(mirrors, repository)));
  if (known.length === 0) throw new Error(`${mirrors} holds no mirror of bench/${list}, as OWNER+NAME/repo`);
  return known;
}

const mirrorOf = (mirrors: string, repository: string) => join(mirrors, repository.replace("/", "+"), "repo");

function readFix(project: FixedProject, mirror: string, commit: string): Fix {
  const changed = read(mirror, "diff", "--name-only", "--no-renames", `${commit}~1`, commit)
    .split("\n")
    .filter((path) => path !== "" && !isDocumentation(path) && !/^src\/changes\//.test(path));
  const texts = (paths: readonly string[]): Texts =>
    Object.fromEntries(paths.map((path) => [path, readAt(mirror, commit, path)]));
  return {
    name: `${projectOf(project)}/${commit}`,
    project,
    base: `${commit}~1`,
    mirror,
    isFirst: project.fixes[0] === commit,
    subject: read(mirror, "log", "-1", "--format=%s", commit)
      .trim()
      .replace(/\s*\(#\d+\)$/, ""),
    sources: texts(changed.filter((path) => !isTestPath(path) && isCodePath(path))),
    tests: texts(changed.filter(isTestPath)),
  };
}

function read(mirror: string, ...args: string[]): string {
  return spawnSync("git", ["--git-dir", mirror, ...args], { maxBuffer: 1 << 30, encoding: "utf8" }).stdout;
}

function readAt(mirror: string, revision: string, path: string): string | null {
  const shown = spawnSync("git", ["--git-dir", mirror, "show", `${revision}:${path}`], {
    maxBuffer: 1 << 30,
  });
  return shown.status === 0 ? shown.stdout.toString() : null;
}

/** The file before the fix. */
export const readBefore = ({ mirror, base }: Fix, path: string): string | null => readAt(mirror, base, path);

const settingUp = new Map<string, Promise<void>>();

/** A repository of one commit with the project before the fix and its dependencies. A folder that is there already is reset. */
export async function layOut(fix: Fix, folder: string, kits: string): Promise<void> {
  const kit = join(kits, fix.project.repository.replace("/", "+"));
  const ready = settingUp.get(kit) ?? setUp(fix, kit);
  settingUp.set(kit, ready);
  await ready;
  if (existsSync(join(folder, ".git/laid-out"))) return lay(folder, {});
  await checkOut(fix, folder);
  const entries = git(kit, "status", "--porcelain", "--ignored")
    .split("\n")
    .flatMap((line) => /^(?:!!|\?\?) (.*?)\/?$/.exec(line)?.[1] ?? []);
  for (const entry of entries) {
    mkdirSync(dirname(join(folder, entry)), { recursive: true });
    // What a build rewrites in place is copied; packages are only read.
    const isPackages = /(?:^|\/)(?:node_modules|\.venv)$/.test(entry);
    await run(["cp", isPackages ? "-al" : "-a", join(kit, entry), join(folder, entry)], folder, 600);
  }
  if (fix.project.inHome === true) await run(["bash", "-c", fix.project.setup], folder, 1800);
  writeFileSync(join(folder, ".git/info/exclude"), entries.map((entry) => `/${entry}\n`).join(""));
  writeFileSync(join(folder, ".git/laid-out"), "");
}

async function setUp(fix: Fix, kit: string): Promise<void> {
  if (existsSync(join(kit, ".git/kit"))) return;
  await checkOut(fix, kit);
  const { code, out } = await run(["bash", "-c", fix.project.setup], kit, 1800);
  if (code !== 0) throw new Error(`${fix.project.repository} could not be set up: ${out.slice(-300)}`);
  writeFileSync(join(kit, ".git/kit"), "");
}

async function checkOut({ mirror, base }: Fix, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // A snapshot may lack its largest files: everything else is laid out.
  const lines =
    'export GIT_INDEX_FILE="$3/.index"; git --git-dir="$1" read-tree "$2" && git --git-dir="$1" --work-tree="$3" checkout-index -a; rm "$3/.index"';
  await run(["bash", "-c", lines, "check out", mirror, base, folder], folder, 600);
  git(folder, "init", "-q");
  git(folder, "add", "-A");
  git(folder, "commit", "-qm", "start");
}

function git(folder: string, ...args: string[]): string {
  const own = ["user.name=bench", "user.email=bench@example.org", "core.hooksPath=/dev/null"];
  const settings = own.flatMap((one) => ["-c", one]);
  const ran = spawnSync("git", ["-C", folder, ...settings, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (ran.status !== 0) throw new Error(`git ${args.join(" ")} in ${folder}: ${ran.stderr}`);
  return ran.stdout;
}

/** The laid-out project with these texts and no other change. */
export function lay(folder: string, texts: Texts): void {
  git(folder, "reset", "-q", "--hard");
  git(folder, "clean", "-fdq");
  for (const [path, text] of Object.entries(texts)) {
    if (text === null) rmSync(join(folder, path), { force: true });
    else {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  }
}

/** Texts as a diff over the project before the fix. */
export function toDiff(folder: string, texts: Texts): string {
  lay(folder, texts);
  git(folder, "add", "-A");
  const diff = git(folder, "diff", "--cached", "--no-renames", "--no-color");
  lay(folder, {});
  return diff;
}

export const isChanged = (folder: string): boolean => git(folder, "status", "--porcelain") !== "";

export interface SuiteRun {
  readonly seconds: number;
  /** Null where it was stopped by the limit. */
  readonly code: number | null;
  /** By name, where the output has names. */
  readonly failing: readonly string[];
  /** Null where the output shows no test: nothing was built, or its format is unknown. */
  readonly tests: number | null;
  readonly tail: string;
}

/** The whole suite over these texts. */
export async function runSuite(
  { project }: Fix,
  folder: string,
  texts: Texts,
  limit: number,
): Promise<SuiteRun> {
  lay(folder, texts);
  const from = performance.now();
  const { code, isLate, out } = await run(["bash", "-c", project.suite], folder, limit);
  const results = readResults(out);
  const named = [...(results?.tests ?? [])].filter(
    ([, outcome]) => outcome === "fail" || outcome === "error",
  );
  return {
    seconds: (performance.now() - from) / 1000,
    code: isLate ? null : code,
    failing: named.map(([name]) => name),
    tests: results === null ? null : results.counts.passed + results.counts.failed,
    tail: code === 0 ? "" : out.slice(-1200),
  };
}

/** Whether one run is red where the other is not. */
export function isWorse(run: SuiteRun, before: SuiteRun): boolean {
  if (run.code === 0) return false;
  if (before.code === 0) return true;
  const known = new Set(before.failing);
  return run.failing.some((name) => !known.has(name)) || (run.tests === null && before.tests !== null);
}

function run(command: readonly string[], cwd: string, seconds: number) {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? ""]));
  return runLimited(command, { cwd, env: { ...env, CI: "1" }, seconds });
}
