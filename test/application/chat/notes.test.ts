import { afterEach, expect, test } from "bun:test";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

test("a named note reaches the models of this session, coders too, and is forgotten on request", async () => {
  at = await openConversation(() => "はい", { local: (role) => !role.startsWith("coder") });
  expect((await at.send("/memo tax = 10 %")).text).toBe("Kept in mind for this session: tax = 10 %");
  await at.send("/memo key sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  expect((await at.send("/memo tax")).text).toBe("tax = 10 %");
  expect((await at.send("/memo")).text).not.toContain("aaaaaaaaaaaa");
  await at.send("/chat what is the tax?");
  expect(at.of("chat").at(-1)?.system).toContain("Kept in mind for the user:\n- tax = 10 %");
  await at.send("/code3 use the tax");
  expect(JSON.stringify(at.of("coder3"))).toContain("tax = 10 %");
  expect(JSON.stringify(at.of("coder3"))).not.toContain("aaaaaaaaaaaa");
  expect((await at.send("/memo forget tax")).text).toBe("Forgotten: tax");
  expect((await at.send("/memo forget tax")).ok).toBe(false);
  await at.send("/chat and now?");
  expect(at.of("chat").at(-1)?.system).not.toContain("10 %");
  for (let i = 0; i < 60; i++) await at.send(`/memo n${i} = ${i}`);
  expect((await at.send("/memo last = 1")).ok).toBe(false);
  await at.send("/new");
  expect((await at.send("/memo")).text).toStartWith("Nothing is kept in this session.");
  await at.send("/resume");
  expect((await at.send("/memo n1")).text).toBe("n1 = 1");
}, 300_000);

test("notes of past days are read and forgotten, also from what the open session carries", async () => {
  const time = { now: "2026-03-01T03:00:00.000Z" };
  at = await openConversation(
    ({ system }) => (system?.includes("memory of a conversation") ? "Decisions:\n- blue" : "ok"),
    {
      now: () => new Date(time.now),
    },
  );
  expect((await at.send("/notes")).text).toStartWith("There are no notes yet.");
  await at.send("/chat make it blue");
  time.now = "2026-03-02T03:00:00.000Z";
  await at.send("/chat good morning");
  expect(at.of("chat").at(-1)?.system).toContain("- blue");
  expect((await at.send("/notes")).text).toContain("1. 20260301-cli-default: Decisions: - blue");
  expect((await at.send("/notes 1")).text).toContain("20260301-cli-default\nDecisions:\n- blue");
  expect((await at.send("/notes forget 7")).ok).toBe(false);
  expect((await at.send("/notes forget x")).ok).toBe(false);
  expect((await at.send("/notes forget 1")).text).toBe("Forgotten: 20260301-cli-default");
  await at.send("/chat what colour?");
  expect(at.of("chat").at(-1)?.system).not.toContain("- blue");
  expect((await at.send("/notes")).text).toStartWith("There are no notes yet.");
});
