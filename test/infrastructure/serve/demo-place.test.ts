/** The demo answers in its reader's language, also what its script does not know. */
import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDemo } from "../../../src/infrastructure/serve/demo-folder.ts";
import { openChat } from "../../../src/wiring/chat.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function demo(locale: "en" | "ja") {
  const place = await openDemo({ PATH: process.env.PATH, PICOCLAW_LOCALE: locale }, locale);
  closing.push(place.remove);
  const opened = await openChat(place.env, { cwd: place.workspace });
  if (!opened.ok) throw new Error(JSON.stringify(opened));
  closing.push(opened.close);
  const { signal } = new AbortController();
  return {
    file: join(place.workspace, "src/cart.js"),
    send: (text: string) =>
      opened.conversation.handle(
        { channel: "cli", chatId: "default", userId: "u", text },
        { signal, onEvent: () => {} },
      ),
  };
}

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Han}]/u;
const ASKED = [
  ["en", "/code3 Fix the failing test", "Nothing is left to fix: all tests pass."],
  ["ja", "/code3 落ちているテストを直して", "直すところはもうありません"],
] as const;

describe("the demo", () => {
  test.each(ASKED)("a fixed demo is not fixed again (%s)", async (locale, request, answer) => {
    const at = await demo(locale);
    const fixed = readFileSync(at.file, "utf8").replace(
      "{ price } of items) sum += price;",
      "{ price, quantity = 1 } of items) sum += price * quantity;",
    );
    writeFileSync(at.file, fixed);
    const reply = await at.send(request);
    expect(reply.ok).toBe(true);
    expect(reply.text).toContain(answer);
    expect(JAPANESE.test(reply.text)).toBe(locale === "ja");
    expect(readFileSync(at.file, "utf8")).toBe(fixed);
  });

  test("a missing file is reported as missing", async () => {
    const at = await demo("en");
    rmSync(at.file);
    expect((await at.send("/code3 Fix the failing test")).text).toContain("no src to fix any more");
  });

  test("what the script does not know is said in one language", async () => {
    const at = await demo("en");
    for (const request of ["/code1 bake bread", "/code3 bake bread", "/ops bake bread"]) {
      const { text } = await at.send(request);
      expect(text).toMatch(/the script knows no such change|has no script for this/);
      expect(JAPANESE.test(text)).toBe(false);
    }
  });
});
