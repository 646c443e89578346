import { afterEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cases, requirePart, runs } from "../require.ts";

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

test("a part that is there is used", () => {
  expect(requirePart("sh")).toBe(true);
});

test("a missing part is skipped by name with its remedy, said once", () => {
  const said = spyOn(console, "error").mockImplementation(() => undefined);
  expect([requirePart("no-such-part"), requirePart("no-such-part")]).toEqual([false, false]);
  expect(said.mock.calls).toEqual([["skipped: no-such-part — install no-such-part"]]);
  said.mockRestore();
});

test("a missing part that is required is a failure", () => {
  process.env.PICOCLAW_TEST_REQUIRE = "git, no-such-part-either";
  expect(() => requirePart("no-such-part-either")).toThrow("required here but missing: no-such-part-either");
});

test("a part that is being made is waited for, until its engine's folder is removed", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-engine-"));
  const sleepsUntil = (done: string) => {
    const asks = `
      import { rmSync, writeFileSync } from "node:fs";
      import { requirePart } from ${JSON.stringify(join(import.meta.dir, "../require.ts"))};
      const engine = process.env.PICOCLAW_TEST_ENGINE;
      let sleeps = 0;
      Bun.sleepSync = () => { if (++sleeps === 3) ${done}; };
      requirePart("docker");
      console.log(sleeps);`;
    const { stdout } = Bun.spawnSync([process.execPath, "--no-env-file", "-e", asks], {
      env: { PATH: "", PICOCLAW_TEST_ENGINE: folder },
    });
    return stdout.toString().trim();
  };
  expect(sleepsUntil('writeFileSync(engine + ".docker", "ready")')).toBe("3");
  rmSync(`${folder}.docker`);
  expect(sleepsUntil("rmSync(engine, { recursive: true })")).toBe("3");
  expect(sleepsUntil("process.exit(1)")).toBe("0");
});

test("a brief run takes fewer cases of a property, and at least one", () => {
  process.env.PICOCLAW_TEST_BRIEF = "1";
  expect([cases(100), cases(1), runs(1)]).toEqual([20, 1, runs(1)]);
});

test("nightly raises the rounds of randomised tests", () => {
  expect(runs(100)).toBe(process.env.TEST_NIGHTLY === "1" ? 6000 : 100);
  process.env.TEST_NIGHTLY = "1";
  expect(runs(100)).toBe(6000);
});
