import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadedPieces } from "../scripts/loaded-pieces.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const program = join(import.meta.dir, "..", "bin", "picoclaw");

/** The start as a person waits for it: `--version` and one edit, from a cold process, also through a symlink. */
export async function startUp(): Promise<Row[]> {
  const folder = tempFolder("start");
  const workspace = join(folder, "ws");
  mkdirSync(workspace);
  const linked = join(folder, "picoclaw");
  symlinkSync(program, linked);
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") };
  const patch = join(folder, "p.json");
  let n = 0;
  const edit = (command: string) => {
    writeFileSync(
      patch,
      JSON.stringify([{ type: "file_edit", action: "update", target: "a.txt", content: `edit ${n++}\n` }]),
    );
    execFileSync(command, ["apply", patch], { cwd: workspace, env, stdio: "ignore" });
  };
  const times = await inTurns(30, {
    bare: () => void execFileSync("/bin/true"),
    version: () => void execFileSync(program, ["--version"], { env, stdio: "ignore" }),
    linkedVersion: () => void execFileSync(linked, ["--version"], { env, stdio: "ignore" }),
    apply: () => edit(program),
    linkedApply: () => edit(linked),
  });
  const bare = times.bare.median;
  const rows: Row[] = [];
  for (const [name, title, limit] of [
    ["version", "picoclaw --version", 15],
    ["linkedVersion", "picoclaw --version, through a symlink", 15],
    ["apply", "picoclaw apply of one edit", 60],
    ["linkedApply", "picoclaw apply of one edit, through a symlink", 60],
  ] as const) {
    const sample = times[name];
    const own = sample.median - bare;
    rows.push({
      name: `${title} (a bare spawn is ${bare.toFixed(1)} ms of it)`,
      figure: milliseconds(sample),
      target: `≤ ${limit} ms`,
      ok: own <= limit,
    });
  }
  rows.push(memory(workspace, patch, env), ...(await singlePieces()));
  remove(folder);
  return rows;
}

/** Pieces of the bundle that lie in files of their own: each costs about a tenth of a millisecond to find, read and begin. */
const MOST_SINGLE = 15;

async function singlePieces(): Promise<Row[]> {
  const main = join(import.meta.dir, "../dist/main.js");
  if (!existsSync(main)) return [];
  return [...(await loadedPieces(main))].map(([run, { size }]) => ({
    name: `files of one piece each that \`${run}\` reads`,
    figure: String(size),
    target: `≤ ${MOST_SINGLE}`,
    ok: size <= MOST_SINGLE,
  }));
}

function memory(workspace: string, patch: string, env: Record<string, string>): Row {
  if (!existsSync("/usr/bin/time"))
    return {
      name: "peak memory of apply",
      figure: "not measured: /usr/bin/time is missing",
      target: "≤ 60 MB",
      ok: true,
    };
  writeFileSync(
    patch,
    JSON.stringify([{ type: "file_edit", action: "update", target: "a.txt", content: "memory\n" }]),
  );
  const ran = spawnSync("/usr/bin/time", ["-f", "%M", program, "apply", patch], {
    cwd: workspace,
    env,
    encoding: "utf8",
  });
  const megabytes = Number(ran.stderr.trim().split("\n").at(-1)) / 1024;
  return {
    name: "peak memory of apply",
    figure: `${megabytes.toFixed(0)} MB`,
    target: "≤ 60 MB",
    ok: megabytes <= 60,
  };
}
