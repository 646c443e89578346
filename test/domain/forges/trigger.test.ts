import { describe, expect, test } from "bun:test";
import {
  type ForgeEvent,
  mentions,
  readOrder,
  readWantedAction,
} from "../../../src/domain/forges/trigger.ts";

const bot = "picoclaw-bot";
const wants = (event: Omit<ForgeEvent, "actor"> & { actor?: string }) =>
  readWantedAction({ actor: "alice", ...event }, { bot: { id: 1, login: bot }, label: "picoclaw" }).do;

describe("what an event asks for", () => {
  const cases: readonly (readonly [ForgeEvent["kind"], Partial<ForgeEvent>, ReturnType<typeof wants>])[] = [
    ["assigned", { assignee: "PicoClaw-Bot" }, "start"],
    ["assigned", { assignee: "alice" }, "nothing"],
    ["unassigned", { assignee: bot }, "stop"],
    ["labeled", { label: "picoclaw" }, "start"],
    ["labeled", { label: "bug" }, "nothing"],
    ["unlabeled", { label: "picoclaw" }, "stop"],
    ["closed", {}, "stop"],
    ["commented", { text: "@picoclaw-bot please fix" }, "start"],
    ["commented", { text: "@picoclaw-bot please", pullAuthor: bot }, "follow-up"],
    ["commented", { text: "I think it is the parser" }, "tell"],
    ["commented", { text: "stop" }, "stop"],
    ["commented", { text: "@picoclaw-bot pause." }, "pause"],
    ["commented", { text: "再開" }, "resume"],
    ["commented", { text: "please do not stop" }, "tell"],
    ["reviewed", { text: "rename this", pullAuthor: 1 }, "follow-up"],
    ["reviewed", { text: "rename this" }, "nothing"],
    ["reviewed", { text: "@picoclaw-bot please rename this", pullAuthor: "alice" }, "start"],
    ...(["reviewed", "commented"] as const).flatMap((kind) =>
      [{}, { pullAuthor: 1 }, { pullAuthor: "alice" }].flatMap((pull) =>
        (
          [
            ["@picoclaw-bot stop", "stop"],
            ["stop", "stop"],
            ["@picoclaw-bot: pause.", "pause"],
            ["/resume", "resume"],
            ["@picoclaw-bot 停止", "stop"],
          ] as const
        ).map(([text, wanted]) => [kind, { text, ...pull }, wanted] as const),
      ),
    ),
    ["reviewed", { text: "`@picoclaw-bot` is a name", pullAuthor: "alice" }, "nothing"],
    ["commented", { text: "stop", actor: bot }, "nothing"],
    ["labeled", { label: "picoclaw", actor: bot }, "nothing"],
  ];
  for (const [kind, more, expected] of cases)
    test(`${kind} ${JSON.stringify(more)} → ${expected}`, () =>
      expect(wants({ kind, ...more })).toBe(expected));
});

test("a mention is a word of its own in prose", () => {
  for (const text of ["@picoclaw-bot", "hey @PicoClaw-bot, look", "(@picoclaw-bot)", "頼む @picoclaw-bot よ"])
    expect(mentions(text, bot)).toBe(true);
  for (const text of [
    "`@picoclaw-bot`",
    "> @picoclaw-bot hi",
    "a@picoclaw-bot",
    "@picoclaw-bot2",
    "@picoclaw-bot-x",
    "```\n@picoclaw-bot\n```",
  ])
    expect(mentions(text, bot)).toBe(false);
});

test("a mention is looked for where comments are written by people, not in megabytes", () => {
  expect(mentions(`@picoclaw-bot ${"x ".repeat(100_000)}`, bot)).toBe(true);
  expect(mentions(`${"x ".repeat(100_000)}@picoclaw-bot`, bot)).toBe(false);
});

test("an order is the whole comment", () => {
  expect(readOrder("  Stop!  ", bot)).toBe("stop");
  expect(readOrder("/pause", bot)).toBe("pause");
  expect(readOrder("@picoclaw-bot、停止。", bot)).toBe("stop");
  expect(readOrder("stop it", bot)).toBeNull();
  expect(readOrder("constructor", bot)).toBeNull();
});
