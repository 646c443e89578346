import { expect, test } from "bun:test";
import { createFormatter } from "../../../src/application/checks/format-draft.ts";
import { createShownFiles } from "../../../src/application/drafts/shown-files.ts";
import type { ProjectFiles } from "../../../src/application/ports/drafts.ts";
import type { Draft } from "../../../src/application/ports/jobs-draft.ts";

const PATHS = Array.from({ length: 2_000 }, (_, at) => `src/part${at % 20}/file${at}.ts`);
const BYTES = new TextEncoder().encode("one\n");

test("the changes of a draft are listed once for all files that are read after it ran", () => {
  const shown = createShownFiles();
  let lists = 0;
  const files = shown.watch(
    {
      read: () => ({ text: "one\n", cut: false }),
      source: {
        judges: () => true,
        look: () => ({ kind: "file", mode: 0o644, size: BYTES.length, bytes: BYTES }),
      },
    } as unknown as ProjectFiles,
    () => {
      lists++;
      return new Set(PATHS);
    },
  );
  for (const path of [...PATHS, "other.ts"]) files.read(path, 10);
  expect(lists).toBe(1);
  expect(PATHS.some((path) => shown.firstBytes(path) !== undefined)).toBe(false);
  expect(shown.firstBytes("other.ts")).toEqual(BYTES);
});

test("the search for formatters lists each folder of the project once", async () => {
  const listed: string[] = [];
  const draft = {
    changes: () => PATHS.map((path) => ({ path, kind: "added" })),
    diff: () => PATHS.map((path) => ({ path, before: null, after: BYTES })),
    files: {
      list(folder: string) {
        listed.push(folder);
        return [];
      },
    },
  } as unknown as Draft;
  const format = createFormatter({ hasProgram: () => false, signal: new AbortController().signal });
  expect(await format(draft, 1)).toEqual([]);
  expect(listed.length).toBeGreaterThan(20);
  expect(listed).toHaveLength(new Set(listed).size);
});
