import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { diagnoseSpace, diagnoseWorkspace } from "../../../src/infrastructure/sandbox/diagnose-machine.ts";
import { trySandbox } from "../../../src/infrastructure/sandbox/diagnose-sandbox.ts";

test("doctor says of an unwritable workspace that no job can change it", () => {
  const messages = messagesFor("en");
  expect(diagnoseWorkspace(tmpdir(), messages)).toEqual({ name: "workspace", ok: true, text: tmpdir() });
  const closed = diagnoseWorkspace("/closed", messages, () => {
    throw new Error("EACCES");
  });
  expect(closed).toMatchObject({ ok: false, text: expect.stringContaining("/closed cannot be written to") });
  expect(closed.remedy).toContain("chown");
});

test("where nothing can be tried out, it does not work, and nothing throws", async () => {
  const storage = join(tmpdir(), "picoclaw-not-there", "storage");
  expect(trySandbox("/bin/true", storage).overlay).toMatchObject({
    ok: false,
    complaint: expect.stringContaining("ENOENT"),
  });
});

test("a disk with little space left is named once, and fails where nothing can be written", () => {
  const messages = messagesFor("en");
  const disks: Record<string, { id: number; freeBytes: number }> = {
    "/ws": { id: 1, freeBytes: 0 },
    "/storage": { id: 1, freeBytes: 0 },
    "/home": { id: 2, freeBytes: 5 * 1024 ** 2 },
    "/roomy": { id: 3, freeBytes: 1024 ** 3 },
  };
  const read = (path: string) => disks[path] ?? { id: 9, freeBytes: 0 };
  expect(diagnoseSpace(Object.keys(disks), messages, read)).toMatchObject([
    { name: "space", ok: false, text: "Only 0 B are free on the disk of /ws: jobs, undo and redo may fail." },
    { name: "space", ok: false, optional: true, remedy: "Free some disk space." },
  ]);
  expect(diagnoseSpace(["/nowhere/at/all"], messages)).toEqual([]);
});
