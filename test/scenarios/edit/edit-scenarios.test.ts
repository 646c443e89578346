import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PatchCommand } from "../../../src/domain/patch/command.ts";
import { looksLikeSearchReplace, parseSearchReplace } from "../../../src/domain/patch/formats/search-replace/search-replace.ts";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import { looksLikeV4a, parseV4a } from "../../../src/domain/patch/formats/v4a/v4a.ts";
import { runCommands } from "./memory-commands.ts";
import { readTree } from "./memory-tree.ts";

/** A folder is a case: `input/`, `patch.txt`, `expected/` (the whole tree), and `error.txt` where something fails. */
function commandsOf(text: string): readonly PatchCommand[] {
  const parsed = looksLikeV4a(text) ? parseV4a(text) : looksLikeSearchReplace(text) ? parseSearchReplace(text) : null;
  if (parsed !== null) {
    if (!parsed.ok) throw new Error(parsed.failure.message);
    return parsed.commands;
  }
  const diff = parseUnifiedDiff(text);
  if (!diff.ok) throw new Error(diff.failure.message);
  return [{ type: "file_edit", action: "update", target: "", content: "", edit: { kind: "diff", files: diff.files } }];
}

describe("edit scenarios", () => {
  for (const name of readdirSync(import.meta.dir).filter((each) => /^\d{3}-/.test(each)).sort()) {
    test(name, () => {
      const folder = join(import.meta.dir, name);
      const tree = readTree(join(folder, "input"));
      const errors = runCommands(tree, commandsOf(readFileSync(join(folder, "patch.txt"), "utf8")));
      const errorFile = join(folder, "error.txt");
      expect(errors.map((error) => `${error}\n`).join("")).toBe(existsSync(errorFile) ? readFileSync(errorFile, "utf8") : "");
      expect(tree.snapshot()).toEqual(readTree(join(folder, "expected")).snapshot());
    });
  }
});
