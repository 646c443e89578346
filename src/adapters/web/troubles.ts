import type { Env, Hono } from "hono";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import { missingPiece } from "../../domain/jobs/missing-piece.ts";
import { answerReplaced, answerStoreAway, RETRY_SECONDS } from "./answers.ts";
import { TooSlow } from "./body.ts";
import { localeOf } from "./visitor.ts";
import { standalonePage, type Web } from "./web.ts";

/** What is answered where nothing is, and where something broke. */
export function answerTroubles<E extends Env>(app: Hono<E>, web: Web): void {
  const { host } = web;
  app.onError((error, c) => {
    if (error instanceof TooSlow) return c.text("408: the body did not arrive in time\n", 408);
    host.onTrouble(error, c.req.path);
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    if (host.isStoreAway(error)) {
      if (c.req.path.startsWith("/api/")) return answerStoreAway();
      c.header("retry-after", RETRY_SECONDS);
      return c.html(standalonePage(web, c.req.raw, t.storeAwayTitle, t.storeAway), 503);
    }
    if (missingPiece(error) !== null) {
      if (c.req.path.startsWith("/api/")) return answerReplaced();
      return c.html(standalonePage(web, c.req.raw, t.replacedTitle, t.replaced), 503);
    }
    if (c.req.path.startsWith("/api/"))
      return c.json({ error: { code: "internal", message: "internal error" } }, 500);
    return c.html(standalonePage(web, c.req.raw, t.brokenTitle, t.broken), 500);
  });
  app.notFound((c) => {
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    if (c.req.path.startsWith("/api/"))
      return c.json({ error: { code: "not-found", message: "no such address" } }, 404);
    return c.html(standalonePage(web, c.req.raw, t.notFoundTitle, t.notFound), 404);
  });
}
