import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { openConversation, WorkerError } from "../../../src/lib.ts";
import { createFakeModels } from "../../fakes/fake-models.ts";
import { proposal } from "./chat-kit.ts";

test("a program talks to it with models of its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-library-"));
  const { models } = createFakeModels(() => proposal("Write it", "```txt:a.txt\nx\n```"));
  const { conversation, close } = await openConversation({
    workspace: folder,
    home: join(folder, "..", `${folder.split("/").at(-1)}-home`),
    env: { PATH: process.env.PATH ?? "", PICOCLAW_LOCALE: "en" },
    models,
  });
  try {
    const message = { channel: "api", chatId: "1", userId: "u" };
    const { signal } = new AbortController();
    const reply = await conversation.handle({ ...message, text: "/code3 write a.txt" }, { signal });
    expect(reply).toMatchObject({ ok: true, jobs: [{ changes: [{ path: "a.txt", kind: "added" }] }] });
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("x\n");
    expect((await conversation.handle({ ...message, text: "/undo" }, { signal })).ok).toBe(true);
  } finally {
    await close();
    await removeTree(folder);
    await removeTree(`${folder}-home`);
  }
  expect(openConversation({ workspace: "/no/such/folder" })).rejects.toBeInstanceOf(WorkerError);
});
