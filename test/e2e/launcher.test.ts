import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCli } from "./cli-kit.ts";

const cli = createCli();
afterAll(() => cli.remove());

test("a program that a message starts gets none of the launcher's variables", () => {
  const programs = join(cli.home, "..", "programs");
  const seen = join(programs, "seen");
  mkdirSync(programs);
  writeFileSync(join(programs, "git"), `#!/bin/sh\nenv >> '${seen}'\nexit 1\n`, { mode: 0o755 });
  const env = { PATH: `${programs}:${process.env.PATH ?? ""}` };
  expect(cli.run(["chat", "/review nothere"], { env }).out).toContain("nothere");
  const names = readFileSync(seen, "utf8")
    .split("\n")
    .map((line) => line.split("=")[0] ?? "");
  expect(names).toContain("PATH");
  expect(names.filter((name) => name.startsWith("MIMALLOC_") || name === "PICOCLAW_STARTED_IN")).toEqual([]);
});
