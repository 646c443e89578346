/**
 * The exercises of Exercism's tracks, and the judge of a solution. In: a folder with `exercism+python` and `exercism+javascript`,
 * each a checkout (`exercises/practice`) or a bare repository (`repo`); for JavaScript `node_modules` with the track's test runner.
 * Out: exercises with stub, tests and instructions as they are, and for a solution whether the pristine tests pass over it.
 * A solution is judged in a folder of its own, without a network where bubblewrap can run.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { remove } from "./workspaces.ts";

type TrackName = keyof typeof TRACKS;

export interface Exercise {
  readonly track: TrackName;
  /** `python/leap` */
  readonly name: string;
  /** The one file that the stub leaves to be written. */
  readonly solution: string;
  readonly tests: readonly string[];
  /** Every file of the project by its path: the stub, the tests and what the track puts beside them. */
  readonly files: ReadonlyMap<string, string>;
  readonly instructions: string;
  /** The track's own solution. */
  readonly example: string;
  readonly modules: string | null;
}

export interface Judged {
  readonly green: boolean;
  readonly late: boolean;
  /** Without the name of the judge's folder. */
  readonly output: string;
}

const JUDGE_SECONDS = 60;
const DOCUMENTS = ["introduction.md", "instructions.md", "instructions.append.md"];

const TRACKS = {
  python: {
    line: 'ulimit -v 8388608; exec python3 -m pytest -q -p no:cacheprovider "$@"',
    /** A track's tests as its own CI runs them. */
    prepare: (text: string) => text,
  },
  javascript: {
    line: 'exec node node_modules/jest/bin/jest.js --ci "$@"',
    // All but the first test are marked as skipped for the learner to open one after the other.
    prepare: (text: string) => text.replace(/\bx(test|it|describe)\(/g, "$1("),
  },
} as const;

/** The exercises of both tracks that have one file to write, by name. `scratch` takes the files of bare repositories. */
export function findExercises(folder: string, scratch: string): Exercise[] {
  const found = (Object.keys(TRACKS) as TrackName[]).flatMap((track) => {
    const place = join(folder, `exercism+${track}`);
    if (!existsSync(place)) return [];
    const practice = join(checkoutOf(place, join(scratch, track)), "exercises/practice");
    const modules = join(place, "node_modules");
    return readdirSync(practice)
      .sort()
      .flatMap((name) =>
        readExercise(track, name, join(practice, name), existsSync(modules) ? modules : null),
      );
  });
  if (found.length === 0)
    throw new Error(`${folder} holds neither exercism+python nor exercism+javascript with exercises`);
  return found;
}

function checkoutOf(place: string, scratch: string): string {
  const repository = join(place, "repo");
  if (!existsSync(repository)) return place;
  mkdirSync(scratch, { recursive: true });
  const input = spawnSync("git", ["--git-dir", repository, "archive", "HEAD", "exercises/practice"], {
    maxBuffer: 1 << 30,
  }).stdout;
  spawnSync("tar", ["-x", "-C", scratch], { input, maxBuffer: 1 << 30 });
  return scratch;
}

function readExercise(track: TrackName, slug: string, folder: string, modules: string | null): Exercise[] {
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const { files: named } = JSON.parse(read(".meta/config.json")) as {
    files: Record<"solution" | "test" | "example", string[]>;
  };
  const [solution, another] = named.solution;
  const [example] = named.example;
  if (solution === undefined || another !== undefined || example === undefined) return [];
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !/^\.(?:meta|docs|approaches|articles)\//.test(path));
  const prepared = (path: string) =>
    named.test.includes(path) ? TRACKS[track].prepare(read(path)) : read(path);
  return [
    {
      track,
      name: `${track}/${slug}`,
      solution,
      tests: named.test,
      files: new Map(paths.sort().map((path) => [path, prepared(path)])),
      instructions: DOCUMENTS.map((name) => join(".docs", name))
        .filter((path) => existsSync(join(folder, path)))
        .map(read)
        .join(""),
      example: read(example),
      modules,
    },
  ];
}

export function layOut({ files, modules }: Exercise, folder: string): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  if (modules !== null) symlinkSync(modules, join(folder, "node_modules"));
}

/** The pristine tests over a text of the solution. */
export async function judge(exercise: Exercise, text: string): Promise<Judged> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-bench-judge-"));
  try {
    layOut(exercise, folder);
    writeFileSync(join(folder, exercise.solution), text);
    const command = [
      ...confined(folder),
      "bash",
      "-c",
      TRACKS[exercise.track].line,
      "judge",
      ...exercise.tests,
    ];
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      TMPDIR: folder,
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONHASHSEED: "0",
    };
    const { code, isLate, out } = await runLimited(command, { cwd: folder, env, seconds: JUDGE_SECONDS });
    return { green: code === 0 && !isLate, late: isLate, output: out.replaceAll(folder, "") };
  } finally {
    remove(folder);
  }
}

export interface Limits {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly seconds: number;
}

/** Runs a program in a process group of its own; a late one is interrupted, then killed with all that it started. */
export function runLimited([program = "", ...args]: readonly string[], { cwd, env, seconds }: Limits) {
  return new Promise<{ code: number | null; isLate: boolean; out: string; stdout: string }>(
    (resolve, reject) => {
      const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      let [isLate, out, stdout] = [false, "", ""];
      const end = (signal: NodeJS.Signals) => {
        try {
          process.kill(-(child.pid ?? 0), signal);
        } catch {
          // It ended meanwhile.
        }
      };
      const timers = [
        setTimeout(() => {
          isLate = true;
          end("SIGINT");
        }, seconds * 1000),
        setTimeout(() => end("SIGKILL"), (seconds + 15) * 1000),
      ];
      child.stdout.on("data", (data: Buffer) => {
        stdout += data.toString();
        out = (out + data.toString()).slice(-200_000);
      });
      child.stderr.on("data", (data: Buffer) => {
        out = (out + data.toString()).slice(-200_000);
      });
      child.on("error", reject);
      child.on("close", (code) => {
        for (const timer of timers) clearTimeout(timer);
        end("SIGKILL");
        resolve({ code, isLate, out, stdout });
      });
    },
  );
}

const BUBBLEWRAP = [
  "bwrap",
  "--ro-bind",
  "/",
  "/",
  "--dev",
  "/dev",
  "--proc",
  "/proc",
  "--unshare-net",
  "--unshare-pid",
];
let confines: boolean | undefined;

/** Whether bubblewrap can run here: without it PicoClaw runs no checks either. */
export function canConfine(): boolean {
  confines ??= spawnSync("bwrap", [...BUBBLEWRAP.slice(1), "true"]).status === 0;
  return confines;
}

function confined(folder: string): string[] {
  return canConfine()
    ? [...BUBBLEWRAP, "--die-with-parent", "--bind", folder, folder, "--chdir", folder]
    : [];
}
