import type { PageContext } from "../context.ts";
import { systemPage } from "./system.ts";
import { tasksPage } from "./overview.ts";
import { usagePage } from "./usage.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";

const USAGE_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** Pages to look at. */
export function overviewRoutes(app: WebApp, web: Web): void {
  const { host } = web;
  const forbidden = (page: PageContext) =>
    respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);

  app.get("/tasks", async (c) => {
    if (c.var.page.viewer.role !== "operator") return forbidden(c.var.page);
    const { tasks, environments } = host.sources();
    return respond(tasksPage(c.var.page, (await tasks?.list(50)) ?? [], (await environments?.list()) ?? []));
  });
  app.get("/usage", async (c) => {
    const { viewer } = c.var.page;
    const now = host.now().getTime();
    const days = Array.from({ length: USAGE_DAYS }, (_, n) =>
      host.dayOf(new Date(now - (USAGE_DAYS - 1 - n) * DAY_MS)),
    );
    const rows = await host.messages.usage({
      fromDay: days[0] as string,
      ...(viewer.role !== "operator" && { user: { channel: viewer.channel, userId: viewer.userId } }),
    });
    return respond(usagePage(c.var.page, { days: [...new Set(days)], rows }));
  });
  app.get("/system", async (c) => {
    if (c.var.page.viewer.role !== "operator") return forbidden(c.var.page);
    return respond(
      systemPage(c.var.page, {
        version: host.version,
        workspace: host.workspace(),
        upSeconds: Math.floor((host.now().getTime() - host.startedAt.getTime()) / 1_000),
        health: await host.health(),
        counts: await host.messages.counts(),
        configuration: await host.configuration(),
      }),
    );
  });
}
