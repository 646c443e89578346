import { createHmac } from "node:crypto";
import { createServer } from "../test/adapters/web/web-kit.ts";
import { startLine } from "../test/fakes/line/line-server.ts";
import { startSlack } from "../test/fakes/slack/slack-server.ts";
import type { Row } from "./measure.ts";
import { burstRow, CHATS, EVENTS, MB, memoryAtRest, sendAll } from "./serve-burst.ts";

const LINE = { token: "line-access-token", secret: "line-channel-secret" };
const SLACK = { botToken: "xoxb-bench", appToken: "xapp-bench" };

/**
 * `serve` with every channel on, LINE and Slack being servers of this machine: its memory at rest, and a burst of
 * signed LINE events while fifty chats are being answered over LINE.
 */
export async function serveChannels(): Promise<Row[]> {
  const line = startLine({ token: LINE.token });
  const slack = startSlack(SLACK);
  const users = Array.from({ length: CHATS }, (_, n) => `U${n}`);
  // A reply after a token's minute is pushed.
  const server = await createServer({
    script: [{ text: "re: {{message}}" }],
    config: `serve: { rate_limit: 0 }\nline: { base_url: "${line.url}", push_quota: 1000000, allowed_users: [${users.join(", ")}] }\nslack: { base_url: "${slack.url}" }\n`,
    env: {
      LINE_CHANNEL_SECRET: LINE.secret,
      LINE_CHANNEL_ACCESS_TOKEN: LINE.token,
      SLACK_BOT_TOKEN: SLACK.botToken,
      SLACK_APP_TOKEN: SLACK.appToken,
      SLACK_SIGNING_SECRET: "slack-signing-secret",
    },
  });
  try {
    await slack.connected;
    const idle = await memoryAtRest(server.pid());
    const times = await sendAll(0, EVENTS, (n) => {
      const userId = users[n % CHATS] as string;
      const event = {
        type: "message",
        mode: "active",
        timestamp: Date.now(),
        webhookEventId: `burst-${n}`,
        deliveryContext: { isRedelivery: false },
        replyToken: line.issue(userId),
        source: { type: "user", userId },
        message: { type: "text", id: String(n), text: `m${n}.`, quoteToken: "q" },
      };
      const body = JSON.stringify({ destination: "Ubot", events: [event] });
      const signature = createHmac("sha256", LINE.secret).update(body).digest("base64");
      return fetch(`${server.url}/webhooks/line`, {
        method: "POST",
        body,
        headers: { "x-line-signature": signature },
      });
    });
    const began = performance.now();
    const told = () => line.shown.map(({ text }) => text).join("\n");
    const answered = () => new Set([...told().matchAll(/re: m(\d+)\./g)].map(([, n]) => n)).size;
    let stillUntil = performance.now() + 20_000;
    for (let before = -1; answered() < EVENTS && performance.now() < stillUntil; await Bun.sleep(500)) {
      if (line.shown.length > before) stillUntil = performance.now() + 20_000;
      before = line.shown.length;
    }
    const twice = [...told().matchAll(/re: m(\d+)\./g)].length - answered();
    return [
      {
        name: "serve at rest, LINE and Slack on",
        figure: `${(idle / MB).toFixed(0)} MB`,
        target: "≤ 120 MB",
        ok: idle <= 120 * MB,
      },
      burstRow("signed LINE events", times),
      {
        name: "of these answered over LINE",
        figure: `${answered()}, ${twice} twice, in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
        target: `${EVENTS}, none twice`,
        ok: answered() === EVENTS && twice === 0,
      },
    ];
  } finally {
    await server.close();
    line.stop();
    slack.stop();
  }
}
