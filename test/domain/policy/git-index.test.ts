import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { findInGitIndex, listGitIndex, readGitIndex } from "../../../src/domain/platform/git-index.ts";
import { cases, requirePart } from "../../require.ts";

/** The object of a file without bytes. */
const EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

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

  test.each(["2", "3", "4"])(
    "finds a file below each folder of its names and below no other, version %s",
    (version) => {
      const folder = mkdtempSync(join(tmpdir(), "picoclaw-index-"));
      const env = { PATH: process.env.PATH ?? "", HOME: folder };
      const git = (input: string, ...args: string[]) =>
        expect(spawnSync("git", args, { cwd: folder, env, input }).status).toBe(0);
      git("", "init", "-q");
      git("", "hash-object", "-w", "--stdin");
      const name = fc.constantFrom("a", "ab", "abc", "b", "日本", "x".repeat(90));
      const path = fc.array(name, { minLength: 1, maxLength: 60 }).map((parts) => parts.join("/"));
      fc.assert(
        fc.property(fc.array(path, { minLength: 1, maxLength: 12 }), path, (paths, asked) => {
          rmSync(join(folder, ".git/index"), { force: true });
          const names = [...new Set(paths)].map((one) => `${one}/file`);
          const lines = names.map((one) => `100644 ${EMPTY}\t${one}\0`).join("");
          git(lines, "update-index", "-z", "--index-version", version, "--index-info");
          if (version === "3") git("", "update-index", "--skip-worktree", "--", names[0] ?? "");
          const bytes = readFileSync(join(folder, ".git/index"));
          for (const below of ["", "a/", `${asked}/`, `${paths[0]}/`, `${paths[0]}/fil`])
            expect([below, findInGitIndex(bytes, Buffer.from(below))]).toEqual([
              below,
              names.some((one) => one.length > below.length && one.startsWith(below)),
            ]);
        }),
        { numRuns: cases(20) },
      );
      rmSync(folder, { recursive: true });
    },
  );

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
      for (const version of [2, 3, 4]) {
        const other = text.length > 7 ? Uint8Array.from(text.with(7, version)) : text;
        expect([true, false, null]).toContain(findInGitIndex(other, Buffer.from("a/")));
      }
    }),
    { numRuns: cases(500) },
  );
});
