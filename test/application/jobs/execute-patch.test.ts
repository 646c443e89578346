import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { toResultJson } from "../../../src/domain/texts/jobs-report.ts";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const NOT_COVERED = { code: "not-covered", what: ["network", "daemons", "other-folders"] } as const;

describe("a job", () => {
  test("that only edits files is staged directly; one with commands as this machine can, and says so once", async () => {
    const [edits, first, second] = [
      await bench.run([edit("create", "a", "1")]),
      await bench.run([shell("true")]),
      await bench.run([shell("true")]),
    ];
    expect([edits.kind, first.kind, second.kind]).toEqual(["direct", "copy", "copy"]);
    expect([edits.notes, first.notes, second.notes]).toEqual([
      [],
      [{ code: "staging", kind: "copy", reason: "configured" }, NOT_COVERED],
      [NOT_COVERED],
    ]);
  });

  test("that runs in place cannot roll back, and admits it", async () => {
    const settings = { PICOCLAW_WORKER_TRANSACTION: "none" };
    const ran = await bench.run([shell("echo x > made"), shell("false")], { atomic: true, settings });
    expect(ran).toMatchObject({
      kind: "none",
      outcome: "committed",
      ending: "kept-after-failure",
      undo: "unavailable",
    });
    expect(bench.read("made")).toBe("x\n");
  });

  test("that must be confined where nothing confines is refused, edits alone are not", async () => {
    const settings = { PICOCLAW_WORKER_CONFINE: "on", PATH: "/nonexistent" };
    expect(await bench.execute([shell("touch ran")], { settings })).toMatchObject({ status: "refused" });
    expect(existsSync(bench.path("ran"))).toBe(false);
    expect((await bench.run([edit("create", "a", "1")], { settings })).success).toBe(true);
  });

  test("on a workspace larger than the copy limit is refused with both numbers", async () => {
    bench.write("big", "x".repeat(200_000));
    const settings = { PICOCLAW_WORKER_COPY_LIMIT: "100000" };
    const execution = await bench.execute([shell("touch ran")], { settings });
    expect(execution).toMatchObject({
      status: "refused",
      why: { refusal: { code: "too-large", limitBytes: 100_000 } },
    });
  });

  test("whose text is not a patch runs nothing and says where", async () => {
    expect(await bench.execute('[{"type":"file_edit","action":"create"}]')).toEqual({
      about: "refusal",
      status: "refused",
      workspace: bench.workspace,
      why: {
        kind: "not-a-patch",
        code: "invalid-command",
        message: "command[0]: target is required",
        index: 0,
        field: "target",
      },
    });
  });

  test("masks secrets of the environment in everything it says", async () => {
    const settings = { MY_API_KEY: "abcdef-not-a-known-shape", PICOCLAW_WORKER_ENV_PASS: "MY_API_KEY" };
    const result = await bench.run([shell("echo key $MY_API_KEY; exit 1")], { settings });
    expect(JSON.stringify(result)).not.toContain("abcdef-not-a-known-shape");
  });

  test("has a result document in snake_case without what only PicoClaw needs", async () => {
    const ran = await bench.run("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n");
    const json = toResultJson(messagesFor("en"), ran);
    const [first] = json.results;
    expect(Object.keys(json)).toEqual([
      "job_id",
      "number",
      "group_id",
      "status",
      "success",
      "executed_cmds",
      "failed_cmds",
      "results",
      "summary",
      "changes",
      "undo",
      "dry_run",
    ]);
    expect(Object.keys(first ?? {})).toEqual([
      "command",
      "success",
      "output",
      "error",
      "duration",
      "changes",
    ]);
    expect(first?.command).not.toHaveProperty("edit");
  });
});
