/**
 * Bugs and wishes of public projects, solved by what a model once answered: the answers are kept beside this file and
 * given again, in order. The projects lie where PICOCLAW_TEST_REAL_TASKS says; installing their dependencies needs npm's
 * registry. One is for the day, the others are for the night.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readRecordedAnswers } from "../fakes/model-server/recorded-answers.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { makeTestFolder } from "../left-behind.ts";
import { requirePart } from "../require.ts";
import { PROGRAM } from "./cli-kit.ts";

const PROJECTS = process.env.PICOCLAW_TEST_REAL_TASKS;
const ANSWERS = join(import.meta.dir, "real-tasks");
const MINUTES = 60_000;
if (PROJECTS === undefined)
  console.error("skipped: real-tasks — name their folder in PICOCLAW_TEST_REAL_TASKS");

const tasks = readdirSync(ANSWERS)
  .sort()
  .filter((task) => task === "qs-comma-null" || process.env.PICOCLAW_TEST_NIGHTLY);

describe.if(PROJECTS !== undefined && requirePart("bwrap"))("a real task, answered as a model did", () => {
  const folder = makeTestFolder("real");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const bash = (...args: string[]) => spawnSync("bash", args, { encoding: "utf8", timeout: 5 * MINUTES });

  test.each(tasks)(
    "%s: solved, seen green, nothing left behind",
    async (task) => {
      const workspace = join(folder, task);
      expect(bash(join(PROJECTS ?? "", "make.sh"), task, workspace).stdout).toContain(`made ${task}`);
      const answers = readRecordedAnswers(join(ANSWERS, task));
      const server = await startModelServer({ script: answers });
      const home = join(folder, `${task}-home`);
      mkdirSync(home);
      const url = server.baseUrl("anthropic");
      writeFileSync(join(home, "config.yaml"), `providers:\n  claude: { base_url: "${url}" }\n`);
      const { text } = JSON.parse(readFileSync(join(PROJECTS ?? "", task, "task.json"), "utf8"));
      const child = Bun.spawn([PROGRAM, "chat", "--workspace", workspace, "--", `/code3 ${text}`], {
        env: {
          PATH: process.env.PATH ?? "",
          HOME: folder,
          PICOCLAW_HOME: home,
          PICOCLAW_LOCALE: "en",
          ANTHROPIC_API_KEY: "sk-test",
        },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "inherit",
      });
      const reply = await new Response(child.stdout).text();
      await server.stop();
      expect(reply).toStartWith("Applied");
      expect(reply).toMatch(/^Applied: \d+ files?, .*\d+ passed/);
      expect([await child.exited, server.requests.length]).toEqual([0, answers.length]);
      expect(bash(join(PROJECTS ?? "", "judge.sh"), task, workspace).stdout).toStartWith(`PASS ${task}`);
      const left = spawnSync("git", ["-C", workspace, "status", "--short"], { encoding: "utf8" }).stdout;
      for (const line of left.trimEnd().split("\n")) expect(line).toMatch(/^(?: M|\?\?) (?:lib|test|README)/);
    },
    10 * MINUTES,
  );
});
