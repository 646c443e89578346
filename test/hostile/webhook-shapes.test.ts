/** Signed deliveries of other shapes than their services describe: none is requested again. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messagingApi } from "@line/bot-sdk";
import { createLineChannel, createLineWebhook } from "../../src/adapters/channels/line-channel.ts";
import { createSlackApp } from "../../src/adapters/channels/slack-events.ts";
import {
  createTelegramClient,
  createTelegramUpdates,
  createTelegramWebhook,
} from "../../src/adapters/channels/telegram-channel.ts";
import { createWebhooks } from "../../src/adapters/forges/webhooks.ts";
import type { Receive } from "../../src/application/ports/serve.ts";
import { chooseMessageLane } from "../../src/application/serve/receive-messages.ts";
import { takeInEvent } from "../../src/application/tasks/intake.ts";
import { channelMessagesFor } from "../../src/domain/texts/channels.ts";
import { DELIVERY_FORMATS } from "../../src/infrastructure/forges/forge-registry.ts";
import { openSqlite } from "../../src/infrastructure/store/open-store.ts";
import { openTasks } from "../application/tasks/solve-store-kit.ts";
import { openForge } from "../fakes/forges/forge-client.ts";
import { startGitHub } from "../fakes/forges/github-server.ts";
import { startGitLab } from "../fakes/forges/gitlab-server.ts";
import { addItem, addPerson, addRepository, createWorld } from "../fakes/forges/world.ts";
import { startLine } from "../fakes/line/line-server.ts";
import { startSlack } from "../fakes/slack/slack-server.ts";
import { pressing, saying, startTelegram } from "../fakes/telegram/telegram-server.ts";
import { createManualTimers } from "../fakes/timers.ts";
import { newMessage, openMessages } from "../infrastructure/store/open-messages.ts";

const SECRET = "agreed-secret";
const folder = mkdtempSync(join(tmpdir(), "picoclaw-shapes-"));
const closers: (() => unknown)[] = [];
let receive: Receive;

beforeAll(async () => {
  const db = openSqlite(join(folder, "messages.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  closers.push(() => db.destroy());
  const conversation = { interrupts: () => false, needsNoModel: (text: string) => text.startsWith("/") };
  receive = async (message) => {
    const lane = chooseMessageLane(conversation, message);
    const stored = newMessage(message, crypto.randomUUID(), new Date().toISOString());
    const [added] = await store.addAll([{ ...stored, ...lane }]);
    return { status: "accepted", messageId: added?.id ?? "" };
  };
});
afterAll(async () => {
  for (const close of closers) await close();
  rmSync(folder, { recursive: true, force: true });
});

const MISSING = Symbol("missing");
const OTHERS = [
  MISSING,
  null,
  7,
  -1.5,
  "",
  "x",
  "\0",
  "y".repeat(300),
  true,
  [],
  [null],
  [[]],
  {},
  { id: null },
];

/** The delivery with each of its members, one at a time, replaced by each of the others. */
function* otherShapes(value: unknown, top = true): Generator<unknown> {
  if (!top) yield* OTHERS;
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value))
    for (const other of otherShapes(member, false)) {
      const copy: Record<string, unknown> = Array.isArray(value) ? ([...value] as never) : { ...value };
      if (other === MISSING) delete copy[name];
      else copy[name] = other;
      yield copy;
    }
}

async function expectNoServerError(
  deliveries: readonly unknown[],
  post: (delivery: unknown) => Promise<Response>,
): Promise<void> {
  const troubled: string[] = [];
  let count = 0;
  for (const delivery of deliveries) {
    expect((await post(delivery)).status).toBeLessThan(203);
    for (const other of [...otherShapes(delivery), null, 7, "x", [], [null], {}]) {
      const { status } = await post(other);
      count += 1;
      if (![200, 202, 400].includes(status))
        troubled.push(`${status} ${JSON.stringify(other).slice(0, 400)}`);
    }
  }
  expect(troubled.slice(0, 5)).toEqual([]);
  expect(count).toBeGreaterThan(100);
}

const requestOf = (body: string, headers: Record<string, string>) =>
  new Request("http://localhost/", { method: "POST", body, headers });

test("Slack: events, buttons and commands of another shape are acknowledged or refused", async () => {
  const slack = startSlack({ botToken: "xoxb", appToken: "xapp" });
  closers.push(() => slack.stop());
  const app = createSlackApp({
    botToken: "xoxb",
    appToken: null,
    signingSecret: SECRET,
    apiUrl: slack.url,
    receive,
    texts: () => channelMessagesFor("en"),
    timers: createManualTimers(),
    onTrouble: () => {},
  });
  const sign = (body: string, type: string) => {
    const at = String(Math.floor(Date.now() / 1000));
    const signature = `v0=${createHmac("sha256", SECRET).update(`v0:${at}:${body}`).digest("hex")}`;
    const headers = { "x-slack-signature": signature, "x-slack-request-timestamp": at };
    return app.webhook?.(requestOf(body, { ...headers, "content-type": type })) as Promise<Response>;
  };
  const said = (event: object) => ({
    type: "event_callback",
    team_id: "T1",
    event_id: crypto.randomUUID(),
    authorizations: [{ team_id: "T1", enterprise_id: null, user_id: "UBOT", is_bot: true }],
    event: { user: "U1", text: "<@UBOT> fix it", ts: "17.1", thread_ts: "17.0", channel: "C1", ...event },
  });
  const files = [{ name: "a.png", mimetype: "image/png", size: 7, url_private: "https://files.slack.com/a" }];
  await expectNoServerError(
    [
      said({ type: "app_mention" }),
      said({ type: "message", channel_type: "im", subtype: "file_share", files }),
    ],
    (event) => sign(JSON.stringify(event), "application/json"),
  );
  const form = "application/x-www-form-urlencoded";
  const button = { type: "button", action_id: "picoclaw:0", value: "/undo job_1", action_ts: "9.9" };
  const blocks = [
    { type: "actions", elements: [{ text: { type: "plain_text", text: "Undo" }, value: "/undo" }] },
  ];
  const message = { ts: "17.2", thread_ts: "17.1", text: "done", blocks };
  const pressed = { type: "block_actions", team: { id: "T1" }, user: { id: "U1" }, channel: { id: "C1" } };
  await expectNoServerError([{ ...pressed, enterprise: null, message, actions: [button] }], (payload) =>
    sign(new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), form),
  );
  const command = { command: "/picoclaw", text: "/jobs", channel_id: "C1", user_id: "U1", team_id: "T1" };
  await expectNoServerError([{ ...command, trigger_id: "t1", enterprise_id: "" }], (fields) =>
    sign(
      new URLSearchParams(
        Object.entries(Object(fields)).map(([name, value]): [string, string] => [name, String(value)]),
      ).toString(),
      form,
    ),
  );
}, 300_000);

test("LINE: events of another shape are passed over, and the others of their request are taken", async () => {
  const line = startLine({ token: "access" });
  const channel = createLineChannel({
    client: new messagingApi.MessagingApiClient({ channelAccessToken: "access", baseURL: line.url }),
    content: { url: line.url, token: "access" },
    counter: { used: async () => 0, add: async () => {} },
    quota: () => 200,
    wording: () => ({ texts: channelMessagesFor("en"), jobUrl: () => null }),
    timers: createManualTimers(),
  });
  closers.push(() => line.stop());
  const answer = createLineWebhook({
    secret: SECRET,
    channel,
    receive,
    forcedRoute: () => null,
    strict: () => false,
    sendWaiting: () => {},
    onTrouble: () => {},
  });
  const event = (more: object, source: object = { type: "user", userId: "U1" }) => ({
    destination: "Ubot",
    events: [
      {
        mode: "active",
        timestamp: Date.now(),
        webhookEventId: crypto.randomUUID(),
        replyToken: crypto.randomUUID(),
        source,
        ...more,
      },
    ],
  });
  const mention = { mentionees: [{ index: 0, length: 4, type: "user", isSelf: true }] };
  const group = { type: "group", groupId: "G1", userId: "U1" };
  const image = { type: "image", id: "5", contentProvider: { type: "line" } };
  const deliveries = [
    event({ type: "message", message: { type: "text", id: "1", text: "@bot hello", mention } }, group),
    event({ type: "message", message: image }),
    event({ type: "message", message: { type: "file", id: "6", fileName: "a.log", fileSize: 7 } }),
    event(
      { type: "postback", postback: { data: "picoclaw:collect" } },
      { ...group, type: "room", roomId: "R1" },
    ),
  ];
  await expectNoServerError(deliveries, async (delivery) => {
    const body = JSON.stringify(delivery);
    const signature = createHmac("sha256", SECRET).update(body).digest("base64");
    return answer(requestOf(body, { "x-line-signature": signature }));
  });
  await channel.close();
}, 300_000);

test("Telegram: an update of another shape is skipped, and is not delivered again without end", async () => {
  const telegram = startTelegram("42:a-token");
  closers.push(() => telegram.stop());
  const client = createTelegramClient({ token: "42:a-token", apiUrl: telegram.url });
  const take = createTelegramUpdates({ client, receive });
  const answer = createTelegramWebhook({ secret: SECRET, take, onTrouble: () => {} });
  const document = { file_id: "f", file_name: "a.png", mime_type: "image/png", file_size: 7 };
  const photo = [{ file_id: "p", file_size: 7, width: 1, height: 1 }];
  const chat = { id: -5, type: "supergroup", title: "all" };
  const reply_to_message = { message_id: 3, from: { id: 1 }, chat };
  const topic = { chat, is_topic_message: true, message_thread_id: 9, reply_to_message };
  const deliveries = [
    saying(1, "@pico_bot /undo", topic),
    saying(2, "see", { document, photo, caption: "see" }),
    pressing(3, "/undo", 9),
  ];
  await expectNoServerError(deliveries, (update) =>
    answer(requestOf(JSON.stringify(update), { "x-telegram-bot-api-secret-token": SECRET })),
  );
}, 300_000);

for (const kind of ["github", "gitlab"] as const)
  test(`${kind}: deliveries of another shape are acknowledged or refused`, async () => {
    const world = createWorld();
    const alice = addPerson(world, "alice");
    const repository = addRepository(world, "acme/calc");
    repository.permissions.set("alice", "write");
    addItem(repository, { kind: "issue", title: "Sum", body: "", author: alice });
    const server = kind === "github" ? startGitHub(world) : startGitLab(world);
    closers.push(() => server.stop());
    const { store } = await openTasks(join(folder, `${kind}.db`));
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const answer = createWebhooks({
      forges: { github: null, gitlab: null, [kind]: { secret: SECRET, site: server.url } },
      formats: DELIVERY_FORMATS,
      intake: (event) => {
        // This test covers reading only: every result must be storable and of the port's types.
        expect(typeof event.item.number).toBe("number");
        for (const text of [event.deliveryId, event.item.repository, event.event.actor])
          expect(typeof text).toBe("string");
        const { assignee = "", label = "", text = "", at = "" } = event.event;
        expect([assignee, label, text, at].map((each) => typeof each)).toEqual(Array(4).fill("string"));
        if (event.item.repository !== "acme/calc" || event.item.number !== 1)
          return Promise.resolve({ did: "kept" });
        const forge = openForge(kind, { world, url: server.url });
        const deps = { label: "picoclaw", needs: [], log, now: () => new Date(), onDue: () => {} };
        return takeInEvent({ ...deps, forge, store, uuid: () => crypto.randomUUID() }, event);
      },
    });
    const who = { login: "alice" };
    const issue = {
      number: 1,
      user: who,
      body: "text",
      updated_at: "2026-01-01T00:00:00Z",
      pull_request: {},
    };
    const github = { repository: { full_name: "acme/calc" }, sender: who };
    const attributes = { id: 5, iid: 1, action: "open", description: "text", updated_at: "2026-01-01 UTC" };
    const gitlab = { user: { username: "alice" }, project: { path_with_namespace: "acme/calc" } };
    const labels = { previous: [{ title: "old" }], current: [{ title: "picoclaw" }] };
    const assignees = { previous: [{ username: "bob" }], current: [{ username: "picoclaw-bot" }] };
    const note = { id: 9, note: "stop", noteable_type: "Issue", action: "create", type: null };
    const deliveries =
      kind === "github"
        ? [
            ["issues", { ...github, action: "labeled", issue, label: { name: "picoclaw" }, assignee: who }],
            ["issue_comment", { ...github, action: "created", issue, comment: { id: 9, body: "stop" } }],
            [
              "pull_request_review",
              { ...github, action: "submitted", pull_request: issue, review: { body: "a" } },
            ],
            ["constructor", { ...github, action: "name", issue }],
          ]
        : [
            [
              "",
              {
                ...gitlab,
                object_kind: "issue",
                object_attributes: attributes,
                changes: { labels, assignees },
              },
            ],
            ["", { ...gitlab, object_kind: "note", object_attributes: note, issue: { iid: 1 } }],
            [
              "",
              {
                ...gitlab,
                object_kind: "note",
                object_attributes: note,
                merge_request: { iid: 1, author_id: 2 },
              },
            ],
          ];
    for (const [name, delivery] of deliveries as [string, object][])
      await expectNoServerError([delivery], (other) => {
        const body = JSON.stringify(other);
        const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
        const headers = {
          "x-github-event": name,
          "x-hub-signature-256": signature,
          "x-gitlab-token": SECRET,
        };
        return answer(kind, requestOf(body, headers)).catch(
          (error) => new Response(String(error), { status: 500 }),
        );
      });
  }, 300_000);
