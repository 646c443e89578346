import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executeWorkerPatch } from "../src/lib.ts";
import { inTurns, milliseconds, type Row, type Sample } from "./measure.ts";
import { fillWorkspace, remove, tempFolder } from "./workspaces.ts";

const SIZES = [1_000, 10_000, 100_000] as const;

/** Jobs with shell commands: flat in the size of the workspace, and beside a warm git snapshot of it. */
export async function shellJobs(): Promise<Row[]> {
  const folder = tempFolder("shell");
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
  const times = await inTurns(9, {
    small: () => job(SIZES[0], edit),
    middle: () => job(SIZES[1], edit),
    large: () => job(SIZES[2], edit),
    snapshot: () => {
      writeFileSync(join(largest, "d0/f0/file2.txt"), String(n++));
      git("add", "-A");
      git("write-tree");
    },
  });
  const { small, middle, large, snapshot } = times as Record<string, Sample> as Record<
    "small" | "middle" | "large" | "snapshot",
    Sample
  >;
  const flat = Math.max(middle.median, large.median) / small.median;
  const share = large.median / snapshot.median;
  const rows: Row[] = [
    {
      name: "one shell command, 1,000 / 10,000 / 100,000 files",
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
  const costs = await inTurns(3, {
    "chmod -R over 10,000 files": async () => {
      await job(SIZES[1], "chmod -R o$([ $(( $N % 2 )) = 0 ] && echo + || echo -)r .");
    },
    "rm -rf of 1,000 files, undone by the next": async () => {
      await job(SIZES[0], "rm -rf d0/f5 && mkdir -p d0/f5 && echo $N > d0/f5/x");
    },
  });
  for (const [name, sample] of Object.entries(costs))
    rows.push({ name, figure: milliseconds(sample), target: "its true cost", ok: true });
  remove(folder);
  return rows;
}
