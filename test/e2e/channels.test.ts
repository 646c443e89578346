/**
 * The real program with LINE, Slack, the web and a terminal, each through its official client or protocol against
 * servers of this machine, and a scripted model.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLine } from "../fakes/line/line-server.ts";
import { startSlack } from "../fakes/slack/slack-server.ts";

const PICOCLAW = join(import.meta.dir, "../../bin/picoclaw");
const TOKENS = { botToken: "xoxb-e2e", appToken: "xapp-e2e" };
const THREAD = "1700000777.000100";
const LINE = { token: "line-access-token-e2e", secret: "line-channel-secret" };

describe("every channel, every kind of route", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-channels-"));
  const home = join(folder, "home");
  const workspace = join(folder, "workspace");
  const line = startLine({ token: LINE.token });
  const slack = startSlack(TOKENS);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    PICOCLAW_HOME: home,
    LINE_CHANNEL_SECRET: LINE.secret,
    LINE_CHANNEL_ACCESS_TOKEN: LINE.token,
    SLACK_BOT_TOKEN: TOKENS.botToken,
    SLACK_APP_TOKEN: TOKENS.appToken,
  };
  const run = (...args: string[]) =>
    Bun.spawn([PICOCLAW, ...args], { cwd: workspace, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = async (...args: string[]) => {
    const child = run(...args);
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { out, err, code: await child.exited };
  };
  let serve: ReturnType<typeof run> | undefined;
  let url = "";
  let token = "";

  const start = async () => {
    serve = run("serve", "--port", "0");
    let told = "";
    for await (const chunk of serve.stdout) {
      told += new TextDecoder().decode(chunk);
      url = /https?:\/\/127\.0\.0\.1:\d+/.exec(told)?.[0] ?? "";
      if (url !== "" && told.includes("/login/")) break;
    }
    await slack.connected;
  };
  const until = async <T>(look: () => T | undefined | false): Promise<T> => {
    for (let i = 0; i < 1500; i++) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      await Bun.sleep(10);
    }
    throw new Error("it did not come");
  };

  beforeAll(async () => {
    mkdirSync(home);
    mkdirSync(workspace);
    const patch = (name: string) =>
      `## Plan\nwrite ${name}\n## Patch\n\`\`\`txt:${name}.txt\n${name}\n\`\`\`\n## Risk\nlow\n`;
    const config = {
      locale: "en",
      providers: { script: { type: "scripted", script: "answers.json", local: true } },
      roles: Object.fromEntries(
        ["chat", "worker", "coder1", "coder2", "coder3"].map((role) => [role, { provider: "script" }]),
      ),
      line: { base_url: line.url },
      slack: { base_url: slack.url },
      worker: { transaction: "copy", confine: "off" },
    };
    writeFileSync(join(home, "config.yaml"), JSON.stringify(config));
    writeFileSync(
      join(home, "answers.json"),
      JSON.stringify({
        answers: [
          { when: { role: "coder1", message: "/write (\\S+)$/" }, text: patch("{{1}}") },
          { when: { role: "coder2", message: "/write (\\S+)$/" }, text: patch("{{1}}") },
          { when: { role: "coder3", message: "/write (\\S+)$/" }, text: patch("{{1}}") },
          { when: { role: "worker", message: "look" }, text: '{"answer": "I looked.", "confidence": 0.9}' },
          { when: { role: "chat" }, text: "Hello from Mio." },
          { text: "Hello from somebody." },
        ],
      }),
    );
    await start();
    await output("pair", "add", "line:Ualice");
    await output("pair", "add", "slack:Ualice");
    token = (
      JSON.parse(
        (await output("serve", "token", "create", "e2e", "--scope", "read,chat,jobs", "--json")).out,
      ) as { token: string }
    ).token;
  }, 300_000);
  afterAll(async () => {
    serve?.kill("SIGTERM");
    await serve?.exited;
    line.stop();
    slack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const slackReplies = () =>
    slack.messages.filter(
      ({ thread, metadata }) => thread === THREAD && metadata?.event_payload.key !== undefined,
    );
  let lastWeb: { reply: { actions: { message: string }[] } | null } = { reply: null };
  const sayOnLine = (text: string, { userId = "Ualice", id = crypto.randomUUID() as string } = {}) =>
    sendToLine(userId, { type: "message", message: { type: "text", id: "1", text, quoteToken: "q" } }, id);
  const sendToLine = async (userId: string, what: object, id: string = crypto.randomUUID()) => {
    const event = {
      mode: "active",
      timestamp: Date.now(),
      webhookEventId: id,
      deliveryContext: { isRedelivery: false },
      replyToken: line.issue(userId),
      source: { type: "user", userId },
      ...what,
    };
    const body = JSON.stringify({ destination: "Ubot", events: [event] });
    const signature = createHmac("sha256", LINE.secret).update(body).digest("base64");
    return fetch(`${url}/webhooks/line`, {
      method: "POST",
      body,
      headers: { "x-line-signature": signature },
    });
  };
  /** The buttons under the last reply, and what pressing one does. */
  const press: Record<string, { last(): Promise<string[]>; press(message: string): Promise<unknown> }> = {
    line: {
      last: async () => line.shown.at(-1)?.buttons ?? [],
      async press(data) {
        const before = line.shown.length;
        expect((await sendToLine("Ualice", { type: "postback", postback: { data } })).status).toBe(200);
        return until(() => line.shown[before]);
      },
    },
    slack: {
      last: async () => buttonsOf(slackReplies().at(-1)?.blocks ?? []),
      async press(value) {
        const before = slackReplies().length;
        slack.push("interactive", {
          type: "block_actions",
          team: { id: "T1" },
          user: { id: "Ualice" },
          channel: { id: "C1" },
          message: { ts: "1700000999.000100", thread_ts: THREAD },
          actions: [
            { type: "button", block_id: "b", action_id: "picoclaw:0", value, action_ts: crypto.randomUUID() },
          ],
        });
        return until(() => slackReplies()[before]);
      },
    },
    web: {
      last: async () => lastWeb.reply?.actions.map(({ message }) => message) ?? [],
      press: (message) => speak.web?.(message) ?? Promise.resolve(),
    },
  };
  const speak: Record<string, (text: string) => Promise<string>> = {
    async line(text) {
      const before = line.shown.length;
      expect((await sayOnLine(text)).status).toBe(200);
      return (await until(() => line.shown[before])).text;
    },
    async slack(text) {
      const before = slackReplies().length;
      slack.push("events_api", {
        type: "event_callback",
        team_id: "T1",
        api_app_id: "A1",
        event_id: crypto.randomUUID(),
        authorizations: [],
        event: {
          type: "app_mention",
          user: "Ualice",
          text: `<@UBOT> ${text}`,
          ts: `${Date.now()}.000100`,
          thread_ts: THREAD,
          channel: "C1",
        },
      });
      return JSON.stringify((await until(() => slackReplies()[before])).blocks);
    },
    async web(text) {
      const response = await fetch(`${url}/api/v1/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ text, wait: 20 }),
      });
      const answer = await response.text();
      lastWeb = JSON.parse(answer);
      return answer;
    },
    cli: async (text) => (await output("chat", text)).out,
  };

  for (const channel of Object.keys(speak)) {
    test(`${channel}: CHAT`, async () => {
      expect(await speak[channel]?.("hello there")).toContain("Hello from Mio.");
    }, 300_000);
    test(`${channel}: ANALYZE`, async () => {
      expect(await speak[channel]?.("/analyze look at it")).toContain("I looked.");
    }, 300_000);
    for (const route of ["code1", "code2", "code3"])
      test(`${channel}: ${route.toUpperCase()} writes its file at once`, async () => {
        const name = `${channel}-${route}`;
        await speak[channel]?.(`/${route} write ${name}`);
        expect(readFileSync(join(workspace, `${name}.txt`), "utf8")).toBe(`${name}\n`);
      }, 300_000);
    test(`${channel}: /undo takes the last one back`, async () => {
      const name = `${channel}-undone`;
      await speak[channel]?.(`/code3 write ${name}`);
      expect(existsSync(join(workspace, `${name}.txt`))).toBe(true);
      await speak[channel]?.("/undo");
      expect(existsSync(join(workspace, `${name}.txt`))).toBe(false);
    }, 300_000);
  }

  for (const channel of Object.keys(press))
    test(`${channel}: the button under the first of two jobs undoes and redoes that one`, async () => {
      const { last, press: push } = press[channel] as (typeof press)[string];
      const there = () => ["one", "two"].filter((n) => existsSync(join(workspace, `${channel}-${n}.txt`)));
      await speak[channel]?.(`/code3 write ${channel}-one`);
      const [undo = ""] = await last();
      await speak[channel]?.(`/code3 write ${channel}-two`);
      expect(there()).toEqual(["one", "two"]);
      await push(undo);
      expect(there()).toEqual(["two"]);
      const [redo = ""] = await last();
      await speak[channel]?.("/undo");
      await push(redo);
      expect(there()).toEqual(["one"]);
      await push(undo);
      expect(there()).toEqual([]);
      await push(undo);
      expect(await last()).toEqual([redo]);
    }, 300_000);

  test("a stranger gets a code; once it is confirmed they are answered", async () => {
    const before = line.shown.length;
    await sayOnLine("hello", { userId: "Ubob" });
    const [, code = ""] =
      /picoclaw pair ([A-Z0-9]{8})/.exec((await until(() => line.shown[before])).text) ?? [];
    expect((await output("pair", "XXXXXXXX")).code).toBe(2);
    expect((await output("pair", code)).out).toContain("line:Ubob");
    await sayOnLine("hello", { userId: "Ubob" });
    expect((await until(() => line.shown[before + 1])).text).toContain("Hello from Mio.");
  }, 300_000);

  test("the same event twice is answered once", async () => {
    const before = line.shown.length;
    const id = crypto.randomUUID();
    await sayOnLine("hello", { id });
    await until(() => line.shown[before]);
    expect((await sayOnLine("hello", { id })).status).toBe(200);
    await speak.web?.("something else");
    expect(line.shown.length).toBe(before + 1);
  }, 300_000);

  test("kill -9 after the 200 loses nothing and doubles nothing", async () => {
    const before = line.shown.length;
    expect((await sayOnLine("hello")).status).toBe(200);
    serve?.kill("SIGKILL");
    await serve?.exited;
    await start();
    await until(() => line.shown[before]);
    await speak.web?.("something else");
    expect(line.shown.length).toBe(before + 1);
  }, 300_000);
});

/** The values that the buttons of a Slack message send. */
function buttonsOf(blocks: readonly unknown[]): string[] {
  return (blocks as { type: string; elements?: { value: string }[] }[])
    .filter(({ type }) => type === "actions")
    .flatMap(({ elements = [] }) => elements.map(({ value }) => value));
}
