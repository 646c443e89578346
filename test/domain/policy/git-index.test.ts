import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { listGitIndex, readGitIndex } from "../../../src/domain/platform/git-index.ts";
import { cases, requirePart } from "../../require.ts";

describe.if(requirePart("git"))("an index that git wrote", () => {
  test.each(["2", "3", "4"])("version %s", (version) => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-index-"));
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    const git = (...args: string[]) => spawnSync("git", args, { cwd: folder, env, encoding: "utf8" }).stdout;
    git("init", "-q");
    mkdirSync(join(folder, "d"));
    writeFileSync(join(folder, "a"), "one");
    writeFileSync(join(folder, "d/日本 x"), "two");
    writeFileSync(join(folder, "later"), "");
    git("add", "a", "d");
    if (version === "3") git("add", "-N", "later");
    git("update-index", "--index-version", version);
    const listed = git("ls-files", "-s", "-z")
      .split("\0")
      .filter(Boolean)
      .map((line) => ({ path: line.slice(line.indexOf("\t") + 1), object: line.split(" ")[1] }));
    const entries = readGitIndex(readFileSync(join(folder, ".git/index")));
    expect(entries?.map(({ path, object }) => ({ path, object }) as const) ?? null).toEqual(
      version === "4" ? null : (listed as { path: string; object: string }[]),
    );
    rmSync(folder, { recursive: true });
  });

  test("lists the same whenever its files were looked at, and nothing of it is changed by the look", () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-index-"));
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    const git = (...args: string[]) => spawnSync("git", args, { cwd: folder, env });
    const index = () => readFileSync(join(folder, ".git/index"));
    git("init", "-q");
    for (const name of ["a", "long name", "x"]) writeFileSync(join(folder, name), name);
    git("add", ".");
    const first = index();
    const listed = listGitIndex(first);
    expect(Buffer.compare(first, index())).toBe(0);
    utimesSync(join(folder, "a"), 1, 1);
    git("update-index", "--refresh");
    expect(Buffer.compare(index(), first)).not.toBe(0);
    expect(listGitIndex(index())).toEqual(listed);
    git("update-index", "--chmod=+x", "x");
    expect(listGitIndex(index())).not.toEqual(listed);
    rmSync(folder, { recursive: true });
  });
});

test("anything else is not an index, and reading it never throws", () => {
  const header = fc.constant(Uint8Array.from([0x44, 0x49, 0x52, 0x43, 0, 0, 0, 2, 0, 0, 0, 9]));
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .tuple(header, fc.uint8Array({ maxLength: 300 }))
      .map(([head, rest]) => Uint8Array.from([...head, ...rest])),
  );
  fc.assert(
    fc.property(bytes, (text) => {
      const read = readGitIndex(text);
      expect(read === null || Array.isArray(read)).toBe(true);
    }),
    { numRuns: cases(500) },
  );
});
