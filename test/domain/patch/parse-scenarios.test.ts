/**
 * Each folder of test/scenarios/parse is one case: `patch.*`, and either `commands.json` (format, commands, and a
 * part of each expected warning, in order) or `error.json`.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import { writtenCommand } from "./written-command.ts";

const ROOT = join(import.meta.dir, "../../scenarios/parse");

interface Expected {
  readonly format: string;
  readonly commands: readonly unknown[];
  readonly warnings: readonly string[];
}

describe("a patch is read as its scenario says", () => {
  for (const name of readdirSync(ROOT).sort()) {
    const files = readdirSync(join(ROOT, name));
    const read = (file: string): string => readFileSync(join(ROOT, name, file), "utf8");
    const patch = files.find((file) => file.startsWith("patch."))!;

    test(name, () => {
      const result = parsePatch(read(patch));
      if (files.includes("error.json")) {
        expect(result).toEqual({ ok: false, failure: JSON.parse(read("error.json")) });
        return;
      }
      const expected: Expected = JSON.parse(read("commands.json"));
      if (!result.ok) throw new Error(JSON.stringify(result.failure));
      expect(result.commands.map(writtenCommand)).toEqual([...expected.commands]);
      expect(result.format).toBe(expected.format as typeof result.format);
      expect(result.warnings.length, result.warnings.join("\n")).toBe(expected.warnings.length);
      for (const [i, part] of expected.warnings.entries()) expect(result.warnings[i]).toContain(part);
    });
  }
});
