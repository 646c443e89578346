/** Run as a process of its own by parse-large.ts, so that its peak memory is its own. */
import { readFileSync } from "node:fs";
import { parsePatch } from "../src/domain/patch/parse-patch.ts";

const file = process.argv[2];
if (file !== undefined) {
  const parsed = parsePatch(readFileSync(file, "utf8"));
  if (!parsed.ok || parsed.commands.length === 0) throw new Error("not parsed");
}
