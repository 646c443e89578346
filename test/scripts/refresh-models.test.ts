import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { refreshTable, writeRows } from "../../scripts/refresh-models.ts";
import { DEFAULTS } from "../../src/config/config.ts";
import { findInCatalogue, SHIPPED_CATALOGUE } from "../../src/domain/models/catalogue.ts";
import { makeTestFolder } from "../left-behind.ts";

const model = (id: string, input: number, more = {}) => ({
  id,
  type: "chat",
  contextWindow: 200_000,
  input: ["text"],
  reasoning: true,
  cost: { input, output: input * 5, cacheRead: 0 },
  ...more,
});

test("facts of the package replace reported ones, and a vendor's own stay and are named", () => {
  const folder = makeTestFolder("models");
  const data = join(folder, "dist/providers/data");
  mkdirSync(data, { recursive: true });
  const write = (provider: string, models: readonly object[]) =>
    writeFileSync(
      join(data, `${provider}.json`),
      JSON.stringify({ api: Object.fromEntries(models.map((one, at) => [`chat:${at}`, one])) }),
    );
  for (const name of ["google", "deepseek"]) write(name, []);
  write("anthropic", [model("claude-x-2", 3), model("claude-x-2-20260101", 3), model("claude-x-1", 9)]);
  write("openai", [model("gpt-small", 1, { contextWindow: 8_000 }), model("gpt-9", 2)]);
  write("openrouter", [model("a/known", 4), model("a/unknown", 4)]);
  const entry = { context: 1, input: 1, output: 1, cached: 1, images: true, effort: true };
  const old = {
    dated: "2026-01-01",
    from: "x",
    models: {
      "claude-x-1": { ...entry, source: "vendor" },
      "gpt-9": { ...entry, source: "reported" },
      "a/known": { ...entry, source: "reported" },
      "gone-1": { ...entry, source: "reported" },
    },
  };
  const { table, differing, gone } = refreshTable(old, folder, { dated: "2026-11-10", from: "pkg 1.0.0" });
  expect(Object.keys(table.models)).toEqual(["claude-x-2", "claude-x-1", "gpt-9", "a/known"]);
  expect(table.models["claude-x-1"]).toEqual(old.models["claude-x-1"]);
  expect(table.models["gpt-9"]).toEqual({
    context: 200_000,
    input: 2,
    output: 10,
    cached: 2,
    images: false,
    effort: true,
    source: "reported",
  });
  expect([differing.map((line) => line.split(":")[0]), gone]).toEqual([["claude-x-1"], ["gone-1"]]);
  const page = writeRows("as of 2026-01-01.\n\n| model | c |\n|---|---|\n| old | 1 |\n\nend\n", table);
  expect(page).toStartWith(
    "as of 2026-11-10 (pkg 1.0.0).\n\n| model | c |\n|---|---|\n| `claude-x-2` | 200000 |",
  );
  expect(page).toEndWith("| reported |\n\nend\n");
});

test("every shipped default is in the table, with its price", () => {
  for (const provider of ["claude", "openai", "gemini", "deepseek"] as const)
    expect(
      findInCatalogue(SHIPPED_CATALOGUE, DEFAULTS.providers[provider]?.model ?? "")?.price,
    ).toMatchObject({ input: expect.any(Number) });
});

test.if(process.env.PICOCLAW_TEST_NIGHTLY === "1")("the table is not older than 60 days", () => {
  const days = (Date.now() - Date.parse(SHIPPED_CATALOGUE.dated)) / 86_400_000;
  expect(days).toBeLessThan(60);
});

test("the table names its source", () => {
  const file = join(import.meta.dir, "../../src/domain/models/catalogue.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    from: expect.stringMatching(/^@\S+ [\d.]+$/),
  });
});
