import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readTaskFile } from "../../src/config/task-file.ts";
import { IMAGE_RECIPES } from "../../src/domain/containers/environments.ts";

const text = readFileSync(join(import.meta.dir, "../../docs/tasks.md"), "utf8");

test("the task file of docs/tasks.md is one", () => {
  const source = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const read = readTaskFile(source, "docs/tasks.md", { CODEX_API_KEY: "key" });
  expect(read).toMatchObject({ ok: true, file: { task: { id: "greet" }, runner: { max_loops: 10 } } });
});

test("the images it names can be built", () => {
  const names = new Set(text.match(/agent-runner-[a-z]+/g));
  const known = IMAGE_RECIPES.map(({ name }) => name);
  expect([...names].filter((name) => !known.includes(name))).toEqual([]);
});
