import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleNote, loadInstalled, removeInstalled } from "./installed.ts";
import { inTurns, milliseconds, type Row, type Sample } from "./measure.ts";
import { fillWorkspace, journalNote, remove, tempFolder } from "./workspaces.ts";

const SIZES = [1_000, 10_000, 100_000] as const;

type Library = typeof import("../src/lib.ts");

/** Jobs with shell commands: flat in the size of the workspace, and beside a warm git snapshot of it. */
export async function shellJobs(): Promise<Row[]> {
  const folder = tempFolder("shell");
  const { executeWorkerPatch } = await loadInstalled<Library>("lib.ts");
  const at = (size: number) => join(folder, `ws-${size}`);
  for (const size of SIZES) {
    mkdirSync(at(size));
    fillWorkspace(at(size), size);
  }
  const largest = at(SIZES[2]);
  const git = (...args: string[]) =>
    void execFileSync(
      "git",
      [`--git-dir=${join(folder, "snapshot.git")}`, `--work-tree=${largest}`, ...args],
      { stdio: "ignore" },
    );
  execFileSync("git", ["init", "-q", "--bare", join(folder, "snapshot.git")]);
  const opencode = opencodeSnapshot(largest, join(folder, "opencode.git"));
  git("add", "-A");
  let n = 0;
  const job = async (size: number, line: string) => {
    const patch = JSON.stringify([
      { type: "shell_command", action: "run", target: line.replaceAll("$N", String(n++)) },
    ]);
    const result = await executeWorkerPatch(patch, { workspace: at(size), home: join(folder, "home") });
    if (!result.success) throw new Error(JSON.stringify(result));
  };
  const edit = "echo $N >> d0/f0/file1.txt";
  const prepare = () => flush(folder);
  const times = await inTurns(9, {
    small: { prepare, run: () => job(SIZES[0], edit) },
    middle: { prepare, run: () => job(SIZES[1], edit) },
    large: { prepare, run: () => job(SIZES[2], edit) },
    snapshot: {
      prepare,
      run: () => {
        writeFileSync(join(largest, "d0/f0/file2.txt"), String(n++));
        git("add", "-A");
        git("write-tree");
      },
    },
    opencode: {
      prepare,
      run: () => {
        writeFileSync(join(largest, "d0/f0/file3.txt"), String(n++));
        opencode();
      },
    },
  });
  const { small, middle, large, snapshot, opencode: theirs } = times;
  const flat = Math.max(middle.median, large.median) / small.median;
  const share = large.median / snapshot.median;
  const rows: Row[] = [
    {
      name: `one shell command, 1,000 / 10,000 / 100,000 files${bundleNote()}`,
      figure: `${flat.toFixed(2)} (${[small, middle, large].map(milliseconds).join(" / ")})`,
      target: "≤ 1.3",
      ok: flat <= 1.3,
    },
    {
      name: "… at 100,000 files / warm git add -A + write-tree",
      figure: `${share.toFixed(2)} (${milliseconds(snapshot)})`,
      target: "≤ 0.2",
      ok: share <= 0.2,
    },
  ];
  rows.push({
    name: "… / a snapshot as opencode takes one (git add . in a git directory of its own, write-tree)",
    figure: `${(large.median / theirs.median).toFixed(2)} (${milliseconds(theirs)})`,
    target: "≤ 0.2",
    ok: large.median / theirs.median <= 0.2,
  });
  for (const row of await trueCosts(folder, executeWorkerPatch)) rows.push(row);
  remove(folder);
  removeInstalled();
  return rows;
}

/**
 * Before every run: a job flushes what it brings in, and would pay for what others left to be written, which is all files of
 * the workspaces at first and an index of ten megabytes after each snapshot.
 */
function flush(folder: string): void {
  execFileSync("sync", ["-f", folder]);
}

/** Its own git directory with its settings, then the two commands of every snapshot. */
function opencodeSnapshot(workspace: string, gitDir: string): () => void {
  const env = { ...process.env, GIT_DIR: gitDir, GIT_WORK_TREE: workspace };
  const run = (...args: string[]) => void execFileSync("git", args, { env, cwd: workspace, stdio: "ignore" });
  run("init");
  for (const [key, value] of [
    ["core.autocrlf", "false"],
    ["core.longpaths", "true"],
    ["core.symlinks", "true"],
    ["core.fsmonitor", "false"],
  ] as const)
    execFileSync("git", ["--git-dir", gitDir, "config", key, value]);
  const args = ["-c", "core.autocrlf=false", "-c", "core.longpaths=true", "-c", "core.symlinks=true"];
  const snapshot = () => {
    run(...args, "--git-dir", gitDir, "--work-tree", workspace, "add", ".");
    run("--git-dir", gitDir, "--work-tree", workspace, "write-tree");
  };
  snapshot();
  return snapshot;
}

/** The cost of a command as a job, beside the same command in a folder of its own; on thousands of files it shows. */
async function trueCosts(folder: string, executeWorkerPatch: Library["executeWorkerPatch"]): Promise<Row[]> {
  const rows: Row[] = [];
  const lines: Readonly<Record<string, string>> = {
    "chmod -R over 10,000 files": "chmod -R o$([ $(( $N % 2 )) = 0 ] && echo + || echo -)r files",
    "git checkout of a branch that differs in 1,000 files":
      "git checkout -q $([ $(( $N % 2 )) = 0 ] && echo other || echo main)",
    "npm ci of a local package of 500 files": "npm ci --silent --no-audit --no-fund",
  };
  const asJob = join(folder, "as-job");
  const plain = join(folder, "plain");
  for (const place of [asJob, plain]) costWorkspace(place);
  let n = 0;
  const prepare = () => flush(folder);
  const runJob = async (line: string) => {
    const target = line.replaceAll("$N", String(n++));
    const patch = JSON.stringify([{ type: "shell_command", action: "run", target }]);
    const result = await executeWorkerPatch(patch, { workspace: asJob, home: join(folder, "home") });
    if (!result.success) throw new Error(JSON.stringify(result.results[0]?.error));
  };
  const runPlain = (line: string) =>
    void execFileSync("bash", ["-c", line.replaceAll("$N", String(n))], { cwd: plain, stdio: "ignore" });
  for (const [name, line] of Object.entries(lines)) {
    const times = (await inTurns(7, {
      job: { prepare, run: () => runJob(line) },
      plain: { prepare, run: () => runPlain(line) },
    })) as Record<"job" | "plain", Sample>;
    const share = (times.job.median / times.plain.median).toFixed(1);
    rows.push({
      name: name + journalNote(folder),
      figure: `${milliseconds(times.job)}; by hand ${milliseconds(times.plain)}: ${share} ×`,
      target: name.startsWith("chmod") ? "≤ 1 s" : "its true cost",
      ok: !name.startsWith("chmod") || times.job.median <= 1000,
    });
  }
  return rows;
}

function costWorkspace(root: string): void {
  const git = (...args: string[]) =>
    void execFileSync("git", ["-c", "user.name=b", "-c", "user.email=b@localhost", ...args], {
      cwd: root,
      stdio: "ignore",
    });
  mkdirSync(join(root, "package"), { recursive: true });
  writeFileSync(join(root, ".gitignore"), "node_modules\n");
  writeFileSync(join(root, "package/package.json"), '{"name":"local","version":"1.0.0"}');
  for (let i = 0; i < 500; i++) writeFileSync(join(root, "package", `m${i}.js`), `module.exports = ${i};\n`);
  const lock = {
    "": { dependencies: { local: "file:package" } },
    "node_modules/local": { resolved: "package", link: true },
    package: { name: "local", version: "1.0.0" },
  };
  writeFileSync(join(root, "package.json"), '{"name":"bench","dependencies":{"local":"file:package"}}');
  writeFileSync(
    join(root, "package-lock.json"),
    JSON.stringify({ name: "bench", lockfileVersion: 3, packages: lock }),
  );
  fillWorkspace(join(root, "files"), 10_000);
  execFileSync("git", ["init", "-q", "-b", "main", root]);
  git("add", "-A");
  git("commit", "-q", "-m", "one");
  git("checkout", "-q", "-b", "other");
  for (let i = 0; i < 1000; i++)
    writeFileSync(join(root, `files/d0/f${Math.floor(i / 100)}/file${i}.txt`), `other ${i}\n`);
  git("commit", "-qam", "two");
  git("checkout", "-q", "main");
}
