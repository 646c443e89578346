import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const withOverlay = requirePart("bwrap") ? test : test.skip;

withOverlay(
  "draft after draft can run commands and checks where PicoClaw's home lies in the user's",
  async () => {
    const workspace = await bench.open({
      PICOCLAW_WORKER_TRANSACTION: "overlay",
      PICOCLAW_WORKER_CONFINE: "on",
      HOME: join(bench.folder, "user"),
      PICOCLAW_HOME: join(bench.folder, "user/.picoclaw"),
    });
    for (const name of ["one", "two"]) {
      const signal = new AbortController().signal;
      const opened = await workspace.openDraft({ source: "test", startedBy: "user", checked: true, signal });
      if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
      const { draft } = opened;
      const patch = JSON.stringify([shell(`echo ${name} > ~/cached; echo ${name} > ${name}.txt`)]);
      expect(await draft.run({ attempt: 1, work: { patch } })).toMatchObject({ results: [{ error: "" }] });
      const checked = await draft.check({ commands: [`cat ${name}.txt`], over: "draft", timeoutSeconds: 60 });
      expect(checked).toMatchObject({ ok: true, runs: [{ exitCode: 0, output: `${name}\n` }] });
      expect(await draft.commit()).toMatchObject({ outcome: "committed" });
    }
  },
);
