/**
 * The public surface, pinned: the definition of each tool that models and clients get. After an intended change, rewrite
 * the files with UPDATE_GOLDEN=1.
 */

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_TOOLS, findTool, ToolCatalog } from "../../src/tools/catalog.ts";
import { TOOL_DEFINITIONS, toOpenAi, toolDefinitions } from "../../src/tools/registry/definitions.ts";

const FORMS = ["plain", "openai", "anthropic", "mcp"] as const;

describe("definitions", () => {
  test.each(FORMS)("in the form %s are as in the golden file", (form) => {
    const file = join(import.meta.dir, `golden/${form}.json`);
    const definitions = toolDefinitions(form);
    if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, `${JSON.stringify(definitions, null, 2)}\n`);
    expect(definitions as unknown).toEqual(JSON.parse(readFileSync(file, "utf8")));
  });

  test("every tool is in the catalogue under its own name, and no name is taken twice", () => {
    expect(Object.keys(ToolCatalog)).toEqual(ALL_TOOLS.map(({ name }) => name));
    expect(Object.keys(TOOL_DEFINITIONS)).toEqual(ALL_TOOLS.map(({ name }) => name));
    const names = ALL_TOOLS.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  test("a path argument of a tool is an argument of it, and every argument is described", () => {
    for (const { name, input, paths = [] } of ALL_TOOLS) {
      expect(Object.keys(input.shape)).toEqual(expect.arrayContaining([...paths]));
      for (const [argument, schema] of Object.entries(input.shape))
        expect([name, argument, schema.description]).toEqual([name, argument, expect.any(String)]);
    }
  });

  test("under an alias the same definition has that name", () => {
    const name = "command-executor_execute_command";
    const tool = findTool(name);
    if (tool === undefined) throw new Error("no such tool");
    expect(toOpenAi(tool, name)).toEqual({
      type: "function",
      function: { ...TOOL_DEFINITIONS.execute_command, name },
    });
  });
});
