import type { Context } from "hono";
import { createManageAccess } from "../../../application/serve/manage-access.ts";
import { createPairingCodes } from "../../../application/serve/pairing.ts";
import type { Role } from "../../../application/ports/access.ts";
import { manageMessagesFor, serveMessagesFor } from "../../../domain/texts/texts.ts";
import { type AccessView, accessPage } from "./manage-access.ts";
import { respond, type Web, type WebApp, type WebEnv } from "../web.ts";

/** Who may come in: people of services, browsers, programs. For operators; `manageRoutes` asks for that. */
export function accessRoutes(app: WebApp, web: Web): void {
  const { host, flashes, signIn } = web;
  const pairing = createPairingCodes({ ...host, messages: () => serveMessagesFor(host.locale()) });
  const manage = createManageAccess({ ...host, signIn, confirm: pairing.confirm });

  const show = async (c: Context<WebEnv>, more: Pick<AccessView, "made"> = {}) =>
    respond(
      accessPage(c.var.page, {
        now: await manage.now(),
        own: c.var.person.session.hash,
        notice: flashes.take(c.req.query("flash")),
        ...more,
      }),
    );
  const back = (c: Context<WebEnv>, ok: boolean, text: string) =>
    c.redirect(`/manage?${flashes.keep({ ok, text })}`, 303);
  const wordsOf = (c: Context<WebEnv>) => manageMessagesFor(c.var.page.t.locale);
  const given = (c: Context<WebEnv>, name: string) => (c.var.form.get(name) ?? "").trim();
  const roleIn = (c: Context<WebEnv>): Role => (given(c, "role") === "operator" ? "operator" : "user");
  const personIn = (c: Context<WebEnv>) => ({ channel: given(c, "channel"), userId: given(c, "user") });

  app.get("/manage", (c) => show(c));
  app.post("/manage/people", async (c) => {
    const person = await manage.letIn(given(c, "code"), roleIn(c), given(c, "name"));
    const words = wordsOf(c);
    if (person === null) return back(c, false, words.codeUnknown);
    return back(c, true, words.personAdded(`${person.channel}:${person.userId}`));
  });
  app.post("/manage/people/change", async (c) => {
    const who = personIn(c);
    const done = await manage.changePerson(who, { role: roleIn(c), name: given(c, "name") });
    const words = wordsOf(c);
    return back(c, done, done ? words.personChanged(`${who.channel}:${who.userId}`) : words.personUnknown);
  });
  app.post("/manage/people/remove", async (c) => {
    const who = personIn(c);
    const done = await manage.removePerson(who);
    const words = wordsOf(c);
    return back(c, done, done ? words.personRemoved(`${who.channel}:${who.userId}`) : words.personUnknown);
  });
  app.post("/manage/sessions/end", async (c) => {
    const session = await manage.endSession(given(c, "session"));
    if (session !== null) web.streams.endSession(session.hash);
    const words = wordsOf(c);
    return back(
      c,
      session !== null,
      session === null ? words.sessionUnknown : words.sessionEnded(session.userId),
    );
  });
  app.post("/manage/tokens/end", async (c) => {
    const token = await manage.endToken(given(c, "token"));
    const words = wordsOf(c);
    return back(c, token !== null, token === null ? words.tokenUnknown : words.tokenEnded(token.name));
  });
  app.post("/manage/links", async (c) => {
    const user = given(c, "user");
    const secret = await manage.makeLink(user, roleIn(c));
    const words = wordsOf(c);
    if (secret === null) return back(c, false, words.badUser);
    const base = host.place().publicUrl ?? new URL(c.req.url).origin;
    return show(c, { made: { text: words.linkMade(user), secret: `${base}/login/${secret}` } });
  });
  app.post("/manage/tokens", async (c) => {
    const [name, user] = [given(c, "name"), given(c, "user")];
    const scopes = c.var.form.getAll("scope");
    const made = await manage.makeToken({ name, user, role: roleIn(c), scopes });
    const words = wordsOf(c);
    if (made === "bad-user") return back(c, false, words.badUser);
    if (made === "incomplete") return back(c, false, words.tokenIncomplete);
    return show(c, { made: { text: words.tokenMade(name), secret: made } });
  });
}
