import type { Web } from "./web.ts";
import { type Api, apiFailure, refuseWithoutScope } from "./answers.ts";
import { exchangeJson } from "./messages.ts";

const DAY_MS = 24 * 3_600_000;

/** Sessions, usage, health, configuration. */
export function overviewApi(app: Api, { host }: Web): void {
  app.get("/sessions", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "read");
    if (refused !== null) return refused;
    const mine = viewer.role === "operator" ? {} : { channel: viewer.channel, userId: viewer.userId };
    const chats = await host.messages.chats({ ...mine, limit: 100 });
    return c.json({
      sessions: chats.map((chat) => ({
        key: `${chat.channel}:${chat.chatId}`,
        channel: chat.channel,
        chat_id: chat.chatId,
        user_id: chat.userId,
        messages: chat.messages,
        last_at: chat.lastAt,
      })),
    });
  });
  app.get("/sessions/:channel/:chat", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "read");
    if (refused !== null) return refused;
    const [channel, chatId] = [c.req.param("channel"), c.req.param("chat")];
    const unknown = () => apiFailure(404, "unknown-session", "no such session");
    if (viewer.role !== "operator") {
      const own = await host.messages.chats({
        channel: viewer.channel,
        userId: viewer.userId,
        limit: 1_000,
      });
      if (!own.some((chat) => chat.channel === channel && chat.chatId === chatId)) return unknown();
    }
    const exchanges = await host.messages.transcript({ channel, chatId, limit: 100 });
    return exchanges.length === 0
      ? unknown()
      : c.json({ messages: exchanges.map((one) => exchangeJson(host, one)) });
  });
  app.get("/usage", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "read");
    if (refused !== null) return refused;
    const days = Number(c.req.query("days") ?? 30);
    if (!Number.isInteger(days) || days < 1 || days > 366)
      return apiFailure(400, "bad-days", "days: 1 to 366");
    const fromDay = host.dayOf(new Date(host.now().getTime() - (days - 1) * DAY_MS));
    const rows = await host.messages.usage({
      fromDay,
      ...(viewer.role !== "operator" && { user: viewer }),
    });
    return c.json({
      from: fromDay,
      rows: rows.map(({ day, provider, model, local, replies, inputTokens, outputTokens, costUsd }) => ({
        day,
        provider,
        model,
        local,
        replies,
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cost_usd: costUsd,
      })),
    });
  });
  app.get("/health", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "read");
    if (refused !== null) return refused;
    const { ready, checks } = await host.health();
    if (c.var.viewer.role === "operator") return c.json({ version: host.version, ready, checks });
    // Addresses and the words of other services are the operator's, as on the page.
    const withoutDetail = checks.map(({ name, required, ok }) => ({ name, required, ok, detail: "" }));
    return c.json({ version: host.version, ready, checks: withoutDetail });
  });
  app.get("/config", async (c) => {
    const refused = refuseWithoutScope(c.var.viewer, "read", { operator: true });
    if (refused !== null) return refused;
    return c.json({ keys: await host.configuration() });
  });
}
