import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { gitOverHttps } from "../../../src/domain/containers/dependency-plan.ts";

test.each([
  ["ssh://git@github.com/nobody/alone.git", "https://github.com/nobody/alone.git"],
  ["git@gitlab.com:nobody/alone.git", "https://gitlab.com/nobody/alone.git"],
  ["ssh://git@self.example/nobody/alone.git", "ssh://git@self.example/nobody/alone.git"],
])("git reads %s as %s", (from, to) => {
  const { stdout } = spawnSync("git", ["ls-remote", "--get-url", from], {
    env: { PATH: process.env.PATH, ...gitOverHttps() },
    encoding: "utf8",
  });
  expect(stdout.trim()).toBe(to);
});
