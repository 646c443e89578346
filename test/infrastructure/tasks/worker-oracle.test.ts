import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { walkFolder } from "../../../src/infrastructure/platform/walk-folder.ts";
import { requirePart, runs } from "../../require.ts";
import { buildImages, createTaskBench, type TaskBench } from "./task-kit.ts";

const PATHS = ["a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "n", "n/f", "n/g/h", "l"];
const path = fc.constantFrom(...PATHS);
const command = fc.oneof(
  fc.tuple(path, fc.nat(99)).map(([p, n]) => `mkdir -p $(dirname ${p}); echo ${n} > ${p}`),
  fc.tuple(path, fc.nat(99)).map(([p, n]) => `echo ${n} >> ${p}`),
  path.map((p) => `rm -rf ${p}`),
  path.map((p) => `mkdir -p ${p}`),
  path.map((p) => `rm -rf ${p}; mkdir -p ${p}; echo new > ${p}/x`),
  fc.tuple(path, path).map(([p, q]) => `mv -T ${p} ${q}`),
  fc.tuple(path, path).map(([p, q]) => `cp -rT ${p} ${q}`),
  fc.tuple(path, path).map(([p, q]) => `ln -sfn ${p} ${q}`),
  fc
    .tuple(fc.constantFrom("700", "755", "640", "600"), path)
    .map(([m, p]) => `test -L ${p} || test ! -e ${p} || chmod u+rwX,${m === "700" ? "go=" : "go=rX"} ${p}`),
);
const script = fc
  .array(command, { minLength: 1, maxLength: 5 })
  .map((list) => list.map((one) => `(${one}) 2>/dev/null || true`).join("\n"));

/** A recreated folder, in a folder that is then recreated. */
const MADE_AGAIN = ["rm -rf d/e; mkdir -p d/e; echo new > d/e/x", "rm -rf d; mkdir -p d; echo new > d/x"];

function look(folder: string): Readonly<Record<string, string>> {
  const enter = (at: string) => !/^\.(git|picoclaw)(\/|$)/.test(at);
  const entries = [...walkFolder(folder, { enter })].map(({ path: at }) => {
    const stats = lstatSync(join(folder, at));
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) return [at, `-> ${readlinkSync(join(folder, at))}`];
    return [at, stats.isDirectory() ? `${mode}/` : `${mode} ${readFileSync(join(folder, at), "utf8")}`];
  });
  return Object.fromEntries(entries.sort(([x = ""], [y = ""]) => (x < y ? -1 : 1)));
}

describe.if(requirePart("docker"))("runs of a worker, one after the other in one container", () => {
  const benches: TaskBench[] = [];
  beforeAll(() => buildImages("coding-agent-executor"), 900_000);
  afterAll(() => {
    for (const one of benches) one.end();
  });

  test("leave on the host what the same commands leave in a plain folder, after each run; and undo restores the start", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 2, maxLength: 4 }), async (scripts) => {
        const at = createTaskBench();
        benches.push(at);
        const id = `oracle${process.pid}-${round++}`;
        at.write("a", "1\n");
        at.write("d/x", "x\n");
        at.write("d/e/z", "z\n");
        const before = look(at.workspace);
        const plain = join(at.folder, "plain");
        mkdirSync(plain);
        cpSync(at.workspace, plain, { recursive: true, filter: (from) => !from.includes("/.git") });
        const differences: unknown[] = [];
        let done = 0;
        const compare = (loop: number) => {
          while (done < loop) spawnSync("sh", ["-c", scripts[done++] ?? ""], { cwd: plain });
          const [here, there] = [look(at.workspace), look(plain)];
          if (!Bun.deepEquals(here, there)) differences.push({ loop, here, there });
        };
        const { record } = await at.run({
          id,
          prompts: scripts,
          test: "true",
          onLanded: compare,
        });
        // A run that changed nothing has nothing to land.
        compare(scripts.length);
        expect(record.loops.flatMap(({ run }) => (run ? [run.error] : []))).toEqual(scripts.map(() => null));
        expect(differences).toEqual([]);
        const { workspace } = await at.open();
        // A folder that a later job moved away and whose undo moved it back counts as changed since: hence the force.
        await workspace.takeBack({ direction: "undo", name: id, force: true });
        expect(look(at.workspace)).toEqual(before);
      }),
      { numRuns: runs(4), examples: [[MADE_AGAIN]] },
    );
  }, 300_000);
});
