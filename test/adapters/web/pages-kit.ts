/** The console's app in this process, over a real store and no worker: for what needs pages and nothing behind them. */
import type { Kysely } from "kysely";
import { isDirectChat } from "../../../src/adapters/channels/registry.ts";
import { createWebApp } from "../../../src/adapters/web/app.ts";
import type { WebHost } from "../../../src/adapters/web/host.ts";
import type { MessageStore, Receive } from "../../../src/application/ports/serve.ts";
import type { ConsoleSources } from "../../../src/application/ports/web.ts";
import { createSignIn } from "../../../src/application/serve/access.ts";
import { createBus, NOTHING_LIVE } from "../../../src/application/serve/serve-events.ts";
import { createOwnChats } from "../../../src/application/web/console-chats.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { hashHex } from "../../../src/infrastructure/platform/hash.ts";
import { createAccessStore } from "../../../src/infrastructure/serve/access-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { newMessage } from "../../infrastructure/store/open-messages.ts";

const now = () => new Date();
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const sha256 = (text: string) => hashHex("sha256", text);
const never = (): never => {
  throw new Error("not in this test");
};

export async function createPages(
  db: Kysely<Database>,
  store: MessageStore,
  receive: Receive,
  sources: ConsoleSources = {},
  viewer: { readonly userId: string; readonly role: "operator" | "user" } = {
    userId: "operator",
    role: "operator",
  },
  jobs: Partial<WebHost["viewerJobs"]> = {},
  stopping: Partial<Pick<WebHost, "closing" | "waitForAnswer">> = {},
) {
  const access = await createAccessStore(db, now);
  const last = { id: "" };
  const host: WebHost = {
    version: "test",
    demo: false,
    startedAt: now(),
    viewerJobs: {
      running: async () => [],
      list: async () => [],
      find: async () => ({ jobs: [], total: 0, page: 1, pages: 1, chats: [] }),
      beside: async () => [],
      read: async () => null,
      latest: async () => "",
      version: async () => "",
      journal: async () => [],
      knownJournal: async () => [],
      output: async () => "",
      actions: ({ actions }) => actions,
      differences: async () => [],
      run: never,
      act: never,
      applyRest: never,
      stopProcess: never,
      ...jobs,
    },
    messages: store,
    access,
    readFigures: never,
    exportTalk: never,
    findWhy: never,
    runningEditor: () => null,
    fleet: {
      view: async () => ({ self: "", machines: [], queues: [], dead: [] }),
      retry: async () => false,
      discard: async () => false,
    },
    async receive(message) {
      const received = await receive(message);
      last.id = `msg_1_${crypto.randomUUID().slice(0, 8)}`;
      if (received.status === "accepted")
        await store.addAll([newMessage(message, last.id, now().toISOString())]);
      return received;
    },
    ownChats: createOwnChats({ chats: (filter) => store.chats(filter), isDirect: isDirectChat }),
    stopMessage: async () => false,
    bus: createBus(),
    live: { of: () => NOTHING_LIVE },
    watchChat: () => () => {},
    waitForAnswer: async () => {},
    sources: () => sources,
    health: async () => ({ ready: true, checks: [] }),
    configuration: async () => [],
    setUp: {
      isNeeded: async () => false,
      steps: { found: never, lookAgain: never, trial: () => ({ kind: "none" }), begin: never },
    },
    settings: {
      read: never,
      change: never,
      trust: never,
      trustSeen: never,
      distrust: never,
      modelNames: never,
      nextTime: never,
    },
    images: () => ({ load: async () => [] }),
    ownCommands: () => [],
    listFiles: () => [],
    metrics: async () => "",
    messagesFor,
    workspace: () => "/ws",
    locale: () => "en",
    mask: (text) => text,
    timezone: () => "UTC",
    place: () => ({ host: "127.0.0.1", port: 7433, publicUrl: null }),
    sha256,
    random,
    now,
    onTrouble: () => {},
    mcp: never,
    webhooks: () => new Map(),
    closing: new AbortController().signal,
    ...stopping,
  };
  const app = createWebApp(host);
  const secret = await createSignIn({ access, sha256, random, now }).createLink(viewer);
  const ask = (path: string, init: RequestInit = {}) =>
    app(
      new Request(`http://127.0.0.1:7433${path}`, {
        ...init,
        headers: {
          host: "127.0.0.1:7433",
          ...(init.headers as Record<string, string>),
          ...(cookie !== "" && { cookie }),
        },
      }),
      "127.0.0.1",
    );
  let cookie = "";
  cookie =
    ((await ask(`/login/${secret}`, { method: "POST" })).headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await ask("/jobs")).text())?.[1] ?? "";
  return {
    ask,
    access,
    csrf,
    /** Presses a button of a form; the page that follows. */
    async press(path: string, fields: Readonly<Record<string, string>> | string[][]) {
      const body = new URLSearchParams(fields as Record<string, string>);
      body.append("csrf", csrf);
      const answer = await ask(path, { method: "POST", body });
      const next = answer.headers.get("location");
      return (next === null ? answer : await ask(next)).text();
    },
    lastMessage: () => last.id,
    say: async (event: string, text: string) => {
      const body = new URLSearchParams({ csrf, event, text });
      return (await ask("/chat/operator", { method: "POST", body })).status;
    },
    /** The texts of the replies on the page. */
    shown: async () => {
      const page = await (await ask("/chat/operator")).text();
      return [...page.matchAll(/<div class="text">([\s\S]*?)<\/div>/g)].map(([, text]) => text ?? "");
    },
  };
}
