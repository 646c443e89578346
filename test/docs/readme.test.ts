import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

/** What its blocks print is held by transcripts.test.ts. */
test.each(["README.md", "README.ja.md"])("every document that %s names is there", (name) => {
  const text = readFileSync(join(root, name), "utf8");
  for (const [, path] of text.matchAll(/\]\(([\w./-]+)(?:#[^)]*)?\)/g))
    expect([path, Bun.file(join(root, path as string)).size > 0]).toEqual([path as string, true]);
});
