import { Hono } from "hono";
import { missingPiece } from "../../domain/jobs/missing-piece.ts";
import { viewerOfToken } from "./visitor.ts";
import type { Web } from "./web.ts";
import { type Api, type ApiEnv, answerReplaced, answerStoreAway, apiFailure } from "./answers.ts";
import { jobApi } from "./api.ts";
import { messageApi } from "./messages.ts";
import { openApi } from "./openapi.ts";
import { overviewApi } from "./overview.ts";

/** `/api/v1`: what the console does, for programs with a token. JSON in, JSON out, described at openapi.json. */
export function createApi(web: Web): Api {
  const app = new Hono<ApiEnv>().basePath("/api/v1");
  app.onError((error, c) => {
    web.host.onTrouble(error, c.req.path);
    if (web.host.isStoreAway(error)) return answerStoreAway();
    if (missingPiece(error) !== null) return answerReplaced();
    if (/disk is full|no space left/i.test(error.message))
      return apiFailure(
        503,
        "no-space",
        "the disk of the store is full: nothing was taken in, try again later",
      );
    return apiFailure(500, "internal", "internal error");
  });
  app.notFound(() => apiFailure(404, "not-found", "no such address"));
  app.get("/openapi.json", (c) => c.json(openApi(web.host.version)));
  app.use("*", async (c, next) => {
    const viewer = await viewerOfToken(web, c.req.raw);
    if (viewer === null) {
      const refused = apiFailure(401, "unauthorized", "send a token: Authorization: Bearer pico_…");
      refused.headers.set("www-authenticate", "Bearer");
      return refused;
    }
    c.set("viewer", viewer);
    await next();
  });
  messageApi(app, web);
  jobApi(app, web);
  overviewApi(app, web);
  return app;
}
