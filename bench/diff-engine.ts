import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import { parsePatch } from "../src/domain/patch/parse-patch.ts";
import type { FileSource } from "../src/domain/patch/patch-command.ts";
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
  // Created again: ext4 writes a file that was emptied first to the disk when it is closed, and git, which removes it, would wait.
  const reset = () => {
    for (const [i, name] of names.entries()) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      rmSync(join(folder, name), { force: true });
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
  const options = { inflate: () => new Uint8Array(), sha1: () => "" };
  const applyHere = () => {
    const parsed = parsePatch(patch);
    if (!parsed.ok) throw new Error(parsed.failure.message);
    for (const { edit } of parsed.commands) {
      const plan = edit && planEdit(edit, source, options);
      if (!plan?.ok) throw new Error(plan?.error ?? "no edit");
      for (const write of plan.writes)
        if (write.kind === "write") writeFileSync(join(folder, write.path), write.bytes);
    }
  };
  const { here, git } = await inTurns(
    60,
    {
      here: { prepare: reset, run: applyHere },
      git: {
        prepare: reset,
        run: () => void execFileSync("git", ["apply", file], { cwd: folder, stdio: "ignore" }),
      },
    },
    20,
  );
  reset();
  applyHere();
  const written = names.every((name, i) => readFileSync(join(folder, name), "utf8") === after[i]);
  remove(folder);
  remove(file);
  if (!written) throw new Error("the diff was not applied as it should be");
  const ratio = here.median / git.median;
  return [
    {
      name: "200-hunk diff over 50 files, in a warm process / git apply",
      figure: `${ratio.toFixed(2)} (${milliseconds(here)} / ${milliseconds(git)})`,
      target: "≤ 0.33",
      ok: ratio <= 1 / 3,
    },
  ];
}
