import { expect, test } from "bun:test";
import { type ModelMessages, modelMessagesFor } from "../../../src/domain/texts/models.ts";

const FACTS = { provider: "claude", model: "m-1", address: "h:1", detail: "it said so", waitSeconds: 7 };
const [ja, en] = [modelMessagesFor("ja"), modelMessagesFor("en")];
const SAID = Object.keys(en).filter((key) => !["remedy", "doctor"].includes(key)) as (keyof ModelMessages)[];

const OF_TEXTS = new Set([
  ...["noKey", "unknownProvider", "noModelName", "noBaseUrl", "scriptUnusable", "noScriptedAnswer"],
  ...Object.keys(en.remedy),
  ...Object.keys(en.doctor),
]);

/** Every message with the same words put in. */
function sayAll(messages: ModelMessages): string[] {
  const call = (say: unknown, key: string): string => {
    if (typeof say === "string") return say;
    const speak = say as (...args: unknown[]) => string;
    if (key === "pull") return `${speak("m-1")}\n${speak("m-1", ["m-2"])}`;
    if (key === "role") return speak("chat", "Mio", "m-1");
    if (key === "seen") return speak("m-1", [["whole", { read: 3, unread: 1, endless: 0, green: 2 }]], 40, 8);
    if (key === "refusedRemote")
      return ["not-declared", "cloud-host", "public-host", "cloud-model"]
        .map((why) => speak("chat", { provider: "claude", model: "m-1", why }))
        .join("\n");
    return OF_TEXTS.has(key) ? speak("claude", "m-1") : speak(FACTS);
  };
  return [
    ...SAID.map((key) => call(messages[key], key)),
    ...Object.entries({ ...messages.remedy, ...messages.doctor }).map(([key, say]) => call(say, key)),
  ];
}

test("everything is said in both languages, and not twice the same", () => {
  const [inJapanese, inEnglish] = [sayAll(ja), sayAll(en)];
  expect(inJapanese.length).toBe(inEnglish.length);
  for (const [index, text] of inEnglish.entries()) {
    expect(text).not.toMatch(/undefined|\[object|^\s*$/);
    expect(inJapanese[index]).not.toMatch(/undefined|\[object|^\s*$/);
  }
  const same = inEnglish.filter((text, index) => text === inJapanese[index]);
  expect(same).toEqual([]);
});

test("a limit names the key that sets it, a wait its length", () => {
  expect(en.firstTokenTimeout(FACTS)).toContain("models.first_token_timeout");
  expect(ja.idleTimeout(FACTS)).toContain("models.idle_timeout");
  expect(en.rateLimited(FACTS)).toBe(
    "claude (m-1) is over its rate limit (429): it said so (try again in 7 s)",
  );
  expect(ja.rateLimited({ ...FACTS, detail: "" })).toBe(
    "claude（m-1）が呼び出し回数の制限に達しました（429）（7 秒後にもう一度お試しください）",
  );
});
