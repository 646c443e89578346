import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { executeWorkerPatch } from "../src/lib.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { fillWorkspace, remove, tempFolder } from "./workspaces.ts";

const SIZES = [1_000, 100_000] as const;

/** A job that edits five files costs the same in a small and in a large workspace, and keeps only what it changed. */
export async function editJobs(): Promise<Row[]> {
  const folder = tempFolder("edits");
  const homes = new Map<number, string>();
  for (const size of SIZES) {
    mkdirSync(join(folder, String(size)));
    fillWorkspace(join(folder, String(size)), size);
    homes.set(size, join(folder, `home-${size}`));
  }
  let n = 0;
  const job = async (size: number) => {
    n += 1;
    const commands = Array.from({ length: 5 }, (_, i) => ({
      type: "file_edit",
      action: "append",
      target: `d0/f${i}/file${i * 100}.txt`,
      content: `${n}\n`,
    }));
    const result = await executeWorkerPatch(JSON.stringify(commands), {
      workspace: join(folder, String(size)),
      home: homes.get(size) as string,
    });
    if (!result.success) throw new Error(JSON.stringify(result));
  };
  const { small, large } = await inTurns(25, { small: () => job(SIZES[0]), large: () => job(SIZES[1]) });
  const ratio = large.median / small.median;
  const kept = Number(
    execFileSync("du", ["-sb", homes.get(SIZES[1]) as string], { encoding: "utf8" }).split("\t")[0],
  );
  const changed = 5 * 27 * readFileSync(join(folder, String(SIZES[1]), "d0/f0/file0.txt")).length;
  remove(folder);
  return [
    {
      name: "edit-only job, 100,000 files / 1,000 files",
      figure: `${ratio.toFixed(2)} (${milliseconds(large)} / ${milliseconds(small)})`,
      target: "≤ 1.2",
      ok: ratio <= 1.2,
    },
    {
      name: "undo data of those jobs / bytes they changed (records and journals included)",
      figure: (kept / changed).toFixed(1),
      target: "∝ changed bytes",
      ok: kept < changed * 30,
    },
  ];
}
