import type { Context } from "hono";
import { fleetMessagesFor } from "../../../domain/texts/texts.ts";
import { fleetPage } from "./fleet.ts";
import { respond, troublePage, type Web, type WebApp, type WebEnv } from "../web.ts";

/** The fleet, for operators. */
export function fleetRoutes(app: WebApp, { host, flashes }: Web): void {
  const refused = (c: Context<WebEnv>) => {
    const { page } = c.var;
    return page.viewer.role === "operator"
      ? null
      : respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);
  };
  app.get("/fleet", async (c) => {
    const no = refused(c);
    if (no !== null) return no;
    const notice = flashes.take(c.req.query("flash"));
    return respond(fleetPage(c.var.page, await host.fleet.view(), notice));
  });
  app.post("/fleet/:verb", async (c) => {
    const no = refused(c);
    if (no !== null) return no;
    const verb = c.req.param("verb");
    const { page, form } = c.var;
    if (verb !== "retry" && verb !== "discard")
      return respond(troublePage(page, page.t.notFoundTitle, page.t.notFound), 404);
    const t = fleetMessagesFor(page.t.locale);
    const id = form.get("id") ?? "";
    const ok = await host.fleet[verb](id);
    const text = ok ? (verb === "retry" ? t.retried(id) : t.discarded(id)) : t.unknownWork(id);
    return c.redirect(`/fleet?${flashes.keep({ ok, text })}`, 303);
  });
}
