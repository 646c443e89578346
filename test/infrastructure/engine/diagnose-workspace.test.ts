import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { diagnoseWorkspace } from "../../../src/infrastructure/engine/diagnose-machine.ts";
import { trySandbox } from "../../../src/infrastructure/engine/diagnose-sandbox.ts";
import { tryLimits } from "../../../src/infrastructure/engine/limited-copy.ts";

test("doctor says of a workspace that nobody may write to that no job can change it", () => {
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
  expect(await tryLimits(storage)).toBe(false);
  expect(trySandbox("/bin/true", storage).overlay).toMatchObject({
    ok: false,
    complaint: expect.stringContaining("ENOENT"),
  });
});
