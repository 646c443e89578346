import { afterEach, describe, expect, test } from "bun:test";
import { worked } from "./chat-kit.ts";
import { type ConversationOptions, type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const NOW = new Date("2026-11-16T15:00:00.000Z"); // A Monday.
const config = "session: { timezone: America/New_York }\n";
const open = async (answer: Parameters<typeof openConversation>[0], more: ConversationOptions = {}) => {
  at = await openConversation(answer, { config, now: () => NOW, ...more });
};
const nobody = () => {
  throw new Error("no model is asked");
};

/** A model that reads the times of a sentence. */
const reads = (cron: string, message: string) => () => JSON.stringify({ asks: true, cron, message });

describe("a schedule made by a sentence", () => {
  test("is reported with its next run and its zone, without a model", async () => {
    await open(nobody);
    const reply = await at.send("/schedule every weekday at 9: run the tests");
    expect(reply.text).toBe(
      [
        "Scheduled #1: every weekday at 09:00 (America/New_York).",
        "Next: Tue, 17 Nov 2026, 09:00",
        "Message: run the tests",
        "Its answers appear in the console.",
        "No server is running here: messages are posted while picoclaw serve runs.",
        "/schedule run|pause|remove 1",
      ].join("\n"),
    );
    expect(reply.actions.map(({ message }) => message)).toEqual([
      "/schedule run 1",
      "/schedule pause 1",
      "/schedule remove 1",
    ]);
  });

  test("is refused with its limit where its rule or its task is too long", async () => {
    await open(nobody);
    const rule = await at.send(`/schedule ${"0,".repeat(60)}0 9 * * * run the tests`);
    expect([rule.ok, rule.text]).toEqual([
      false,
      "Nothing was scheduled: a cron rule has at most 100 characters. Two times are two schedules.",
    ]);
    const task = await at.send(`/schedule every day at 9: ${"run the tests ".repeat(200)}`);
    expect(task.ok).toBe(false);
    expect(task.text).toContain("a task has at most 2000 characters");
    expect((await at.send("/schedule list")).text).toContain("There are no schedules");
  });

  test("in Japanese, in a chat of LINE that is forced to talk", async () => {
    await open(reads("0 9 * * 1", "未対応の issue をまとめて"), { locale: "ja" });
    const place = { channel: "line", chatId: "U1", userId: "U1", forcedRoute: "CHAT" } as const;
    const { text } = await at.send("毎週月曜の9時に未対応の issue をまとめて", place);
    expect(text).toContain("#1 を予約しました: 毎週月曜 09:00（America/New_York）。");
    expect(text).toContain("次回: 2026/11/23(月) 09:00");
    expect(text).toContain("回答はこのチャットに届きます。");
    expect((await at.send("/schedule list", place)).text).toContain("→ line:U1");
    // Another chat neither sees nor ends it.
    const other = { ...place, chatId: "U2", userId: "U2" };
    expect((await at.send("/schedule", other)).text).toContain("予約はありません");
    expect((await at.send("/schedule remove 1", other)).ok).toBe(false);
  });

  test("is paused, resumed, run now, shows its history, and is removed", async () => {
    await open(({ role }) => (role === "worker" ? worked("all green") : "hello"));
    await at.send("/schedule every day at 6pm: say hello");
    expect((await at.send("/schedule pause 1")).text).toBe("#1 is paused. To resume it: /schedule resume 1");
    expect((await at.send("/schedule list")).text).toContain("paused: say hello → web:operator");
    expect((await at.send("/schedule resume #1")).text).toContain("Next: Mon, 16 Nov 2026, 18:00");
    expect((await at.send("/schedule history 1")).text).toContain("It has not run yet.");
    expect((await at.send("/schedule run 1")).text).toContain("hello");
    expect((await at.send("/schedule history 1")).text).toContain("Mon, 16 Nov 2026, 10:00 · by hand");
    expect((await at.send("/schedule remove 1")).text).toBe("#1 is removed: say hello");
    expect((await at.send("/schedule run 1")).text).toBe(
      "There is no schedule 1. All of them: /schedule list",
    );
  });

  test("times that only a model can read are asked of the classifier; a sentence without times takes its usual route", async () => {
    await open(({ messages, role }) => {
      const text = messages.at(-1)?.text ?? "";
      if (!text.includes("repeatedly at set times"))
        return role === "worker" ? worked("looked") : "just talk";
      return text.includes("friday")
        ? '{"cron": "0 16 1-7 * 5", "message": "post the notes"}'
        : '{"asks": false}';
    });
    expect((await at.send("every second friday at 4pm post the notes")).text).toContain("#1");
    expect((await at.send("every day I learn something")).text).toContain("just talk");
    expect((await at.send("/schedule whenever you like")).text).toContain("When, and what?");
  });

  test("a sentence that begins like an action names no schedule", async () => {
    await open(({ messages }) => {
      const isAsked = (messages.at(-1)?.text ?? "").includes("repeatedly at set times");
      return isAsked ? '{"asks": false}' : "just talk";
    });
    expect((await at.send("run daily", { forcedRoute: "CHAT" })).text).toContain("just talk");
  });

  test("as for a shell it is a command as well, which needs no model", async () => {
    await open(nobody);
    expect((await at.send("picoclaw schedule every day at 9: run x")).text).toContain("Scheduled #1");
    expect((await at.send("picoclaw schedule pause 1")).text).toContain("#1 is paused");
  });

  test("times that are not plain are the model's to read, and are refused where it gives none", async () => {
    await open(({ messages }) => {
      const text = messages.at(-1)?.text ?? "";
      if (!text.includes("repeatedly at set times")) return "just talk";
      if (text.includes("9 JST")) return '{"cron": "0 19 * * 0-4", "message": "run x"}';
      return text.includes("61")
        ? '{"cron": "61 * * * *", "message": "do x"}'
        : '{"asks": true, "cron": null}';
    });
    const made = (await at.send("every weekday at 9 JST run x")).text;
    expect(made).toContain("Scheduled #1: every Sunday, Monday, Tuesday, Wednesday, Thursday at 19:00");
    expect(made).toContain("Message: run x");
    for (const text of [
      "every day at 9 until friday run x",
      "/schedule every day at 9 until friday run x",
      "every hour at 61 do x",
    ]) {
      const reply = await at.send(text);
      expect([text, reply.ok, reply.text.split(":")[0]]).toEqual([text, false, "Nothing was scheduled"]);
      expect(reply.text).toContain("one time of day in America/New_York");
    }
    expect((await at.send("/schedule list")).text.split("\n#")).toHaveLength(1);
  });

  test("times that are not plain are refused in Japanese if the model's answer has none", async () => {
    await open(() => '{"asks": true, "cron": null}', { locale: "ja" });
    for (const text of ["毎日9時と17時にテストを実行して", "毎日日本時間の9時にテストを実行して"])
      expect((await at.send(text)).text).toContain("予約していません。");
  });

  test("a sentence that no model can read takes its usual route, and the command says how to write it", async () => {
    await open(({ messages }) =>
      (messages.at(-1)?.text ?? "").includes("repeatedly at set times") ? "well" : "just talk",
    );
    expect((await at.send("every weekday at 9 tell me a joke")).text).toContain("just talk");
    const { ok, text } = await at.send("/schedule every weekday at 9 tell me a joke");
    expect([ok, text.split("\n").at(-1)]).toEqual([
      false,
      "For example: /schedule every weekday at 9: run the tests · /schedule mon,fri 17:30: check the logs · /schedule every 15 minutes: check the queue · /schedule 0 9 1 * * review the dependencies",
    ]);
    expect((await at.send("/schedule list")).text).toContain("There are no schedules.");
  });

  test("one of the configuration is listed and stays there", async () => {
    const schedules =
      'schedules: [{ name: morning, cron: "0 9 * * *", chat: "web:operator", message: hi }]\n';
    await open(nobody, { config: `${config}${schedules}` });
    expect((await at.send("/schedule")).text).toContain(
      "morning every day at 09:00 (America/New_York), next Tue",
    );
    expect((await at.send("/schedule remove morning")).text).toContain("is defined in the configuration");
  });
});
