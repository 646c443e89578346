import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import type { FileSource } from "../src/domain/patch/edit.ts";
import { parsePatch } from "../src/domain/patch/parse-patch.ts";
import { planEdit } from "../src/domain/patch/plan-edit.ts";
import { inTurns, milliseconds, type Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const FILES = 50;
const HUNKS = 4;
const LINES = 400;

/** A 200-hunk unified diff over 50 files: ours in this process, against spawning `git apply`. */
export async function diffEngine(): Promise<Row[]> {
  const folder = tempFolder("diff");
  const names = Array.from({ length: FILES }, (_, i) => `src/m${i % 7}/file${i}.ts`);
  const before = names.map((_, i) =>
    Array.from({ length: LINES }, (_, n) => `line ${n} of file ${i}`)
      .join("\n")
      .concat("\n"),
  );
  const after = before.map((text) => {
    const lines = text.split("\n");
    for (let h = 0; h < HUNKS; h++) lines[20 + h * 95] = `changed ${h}`;
    return lines.join("\n");
  });
  const patch = names
    .map(
      (name, i) =>
        `diff --git a/${name} b/${name}\n${createTwoFilesPatch(`a/${name}`, `b/${name}`, before[i] as string, after[i] as string, undefined, undefined, { context: 3 }).replace(/^=+\n/, "")}`,
    )
    .join("");
  const reset = () => {
    for (const [i, name] of names.entries()) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), before[i] as string);
    }
  };
  reset();
  execFileSync("git", ["init", "-q"], { cwd: folder });
  const file = join(folder, "..", `${folder.split("/").at(-1)}.patch`);
  writeFileSync(file, patch);
  const source: FileSource = {
    look: (path) =>
      path.endsWith(".ts")
        ? { kind: "file", bytes: readFileSync(join(folder, path)), mode: 0o644 }
        : { kind: "directory" },
  };
  let ours = 0;
  const git: number[] = [];
  const mine: number[] = [];
  await inTurns(30, {
    both: () => {
      reset();
      let started = performance.now();
      execFileSync("git", ["apply", file], { cwd: folder, stdio: "ignore" });
      git.push(performance.now() - started);
      reset();
      started = performance.now();
      const parsed = parsePatch(patch);
      if (!parsed.ok) throw new Error(parsed.failure.message);
      for (const { edit } of parsed.commands) {
        if (edit === undefined) throw new Error("no edit");
        const plan = planEdit(edit, source, { inflate: () => new Uint8Array(), sha1: () => "" });
        if (!plan.ok) throw new Error(plan.error);
        for (const write of plan.writes)
          if (write.kind === "write") writeFileSync(join(folder, write.path), write.bytes);
        ours += plan.writes.length;
      }
      mine.push(performance.now() - started);
    },
  });
  if (ours === 0) throw new Error("nothing was written");
  remove(folder);
  remove(file);
  const { summarize } = await import("./measure.ts");
  const [a, b] = [summarize(mine.slice(2)), summarize(git.slice(2))];
  const ratio = a.median / b.median;
  return [
    {
      name: "200-hunk diff over 50 files, in process / git apply",
      figure: `${ratio.toFixed(2)} (${milliseconds(a)} / ${milliseconds(b)})`,
      target: "≤ 0.33",
      ok: ratio <= 1 / 3,
    },
  ];
}
