import type { MiddlewareHandler } from "hono";
import { respond, troublePage, type Web, type WebApp, type WebEnv } from "./web.ts";
import { accessRoutes } from "./pages/routes-manage-access.ts";
import { settingsRoutes } from "./pages/routes-manage-settings.ts";

/** What operators manage. Nobody else gets here. */
export function manageRoutes(app: WebApp, web: Web): void {
  const operatorsOnly: MiddlewareHandler<WebEnv> = async (c, next) => {
    const { page } = c.var;
    if (page.viewer.role === "operator") return next();
    return respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);
  };
  app.use("/manage", operatorsOnly);
  app.use("/manage/*", operatorsOnly);
  accessRoutes(app, web);
  settingsRoutes(app, web);
}
