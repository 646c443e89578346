import type { Context } from "hono";
import {
  type ApiToken,
  type Pairing,
  type Person,
  type Role,
  SCOPES,
  type WebSession,
} from "../../../application/ports/serve.ts";
import { createManageAccess, createPairingCodes } from "../../../application/serve/access.ts";
import { serveMessagesFor } from "../../../domain/texts/serve.ts";
import { type ManageMessages, manageMessagesFor } from "../../../domain/texts/web.ts";
import { formField, formSelect, managePage } from "../layout.ts";
import { actionButton, csrfField, html, type Markup, moment, visible } from "../markup.ts";
import type { Notice, PageContext } from "../page-context.ts";
import { respond, type Web, type WebApp, type WebEnv } from "../web.ts";

interface AccessView {
  readonly now: Awaited<ReturnType<ReturnType<typeof createManageAccess>["now"]>>;
  /** The visitor's own session. */
  readonly own: string;
  readonly notice?: Notice | undefined;
  /** The secret that was just made and is shown once. */
  readonly made?: { readonly text: string; readonly secret: string };
}

function accessPage(context: PageContext, { now, own, notice, made }: AccessView): Markup {
  return managePage(
    context,
    "access",
    notice,
    (
      words,
    ) => html`${made !== undefined && html`<div class="notice good" role="status"><p>${made.text}</p><pre class="code" tabindex="0"><code>${made.secret}</code></pre></div>`}
<section aria-labelledby="people"><h2 id="people">${words.peopleTitle}</h2><p class="note">${words.peopleIntro}</p>
${now.waiting.length > 0 && html`<h3>${words.waitingTitle}</h3><ul class="rows">${now.waiting.map((one) => waitingRow(context, words, one))}</ul>`}
${now.people.length === 0 ? html`<p class="note">${words.noPeople}</p>` : html`<ul class="rows">${now.people.map((one) => personRow(context, words, one))}</ul>`}
</section>
<section aria-labelledby="browsers"><h2 id="browsers">${words.sessionsTitle}</h2><p class="note">${words.sessionsIntro}</p>
<ul class="rows">${now.sessions.map((one) => sessionRow(context, words, one, own))}</ul>
<h3>${words.linkTitle}</h3><p class="note">${words.linkIntro}</p>
<form method="post" action="/manage/links" class="fields">${csrfField(context)}${formField(words.user, html`<input name="user" required maxlength="40" pattern="[a-z0-9_\\-]+" autocomplete="off">`)}${formField(words.role, formSelect("role", words.roles, "user"))}<button type="submit">${words.makeLink}</button></form>
</section>
<section aria-labelledby="tokens"><h2 id="tokens">${words.tokensTitle}</h2>
${now.tokens.length === 0 ? html`<p class="note">${words.tokensEmpty}</p>` : html`<ul class="rows">${now.tokens.map((one) => tokenRow(context, words, one))}</ul>`}
<h3>${words.makeToken}</h3>
<form method="post" action="/manage/tokens" class="fields">${csrfField(context)}${formField(words.name, html`<input name="name" required maxlength="60" autocomplete="off">`)}${formField(words.user, html`<input name="user" required maxlength="40" value="operator" pattern="[a-z0-9_\\-]+" autocomplete="off">`)}${formField(words.role, formSelect("role", words.roles, "operator"))}
<fieldset><legend>${words.tokenScopes}</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" name="scope" value="${scope}" ${scope === "read" && html`checked`}> ${words.scopes[scope]}</label>`)}</fieldset><button type="submit">${words.makeToken}</button></form>
</section>`,
  );
}

function waitingRow(context: PageContext, words: ManageMessages, pairing: Pairing): Markup {
  const { code, channel, userId, expiresAt } = pairing;
  return html`<li><div class="row managed"><span class="state waiting">${channel}</span><span class="title">${visible(userId)} <code>${code}</code></span><span class="meta">${words.waitingUntil} ${moment(context, expiresAt)}</span>
<form method="post" action="/manage/people" class="fields">${csrfField(context)}<input type="hidden" name="code" value="${code}">${formField(words.name, html`<input name="name" maxlength="40" autocomplete="off">`, words.nameHint)}${formField(words.role, formSelect("role", words.roles, "user"))}<button type="submit" class="main">${words.letIn}</button></form></div></li>`;
}

function personRow(context: PageContext, words: ManageMessages, person: Person): Markup {
  const { channel, userId, name, role, addedAt } = person;
  const who = html`<input type="hidden" name="channel" value="${channel}"><input type="hidden" name="user" value="${userId}">`;
  return html`<li><div class="row managed"><span class="state plain">${channel}</span><span class="title">${visible(name === "" ? userId : `${name} (${userId})`)}</span><span class="meta">${words.roles[role]} · ${words.since} ${moment(context, addedAt)}</span>
${actionButton(context, { action: "/manage/people/remove", label: words.remove, style: "danger", fields: { channel, user: userId } })}
<form method="post" action="/manage/people/change" class="fields">${csrfField(context)}${who}${formField(words.name, html`<input name="name" maxlength="40" value="${name}" autocomplete="off">`)}${formField(words.role, formSelect("role", words.roles, role))}<button type="submit">${words.save}</button></form></div></li>`;
}

function sessionRow(context: PageContext, words: ManageMessages, session: WebSession, own: string): Markup {
  const { hash, userId, role, createdAt, expiresAt } = session;
  return html`<li><div class="row managed"><span class="state ${hash === own ? "good" : "plain"}">${hash === own ? words.thisBrowser : words.roles[role]}</span><span class="title">${visible(userId)}</span><span class="meta">${moment(context, createdAt)} · ${words.until} ${moment(context, expiresAt)}</span>
${actionButton(context, { action: "/manage/sessions/end", label: words.signOut, style: "danger", fields: { session: hash } })}</div></li>`;
}

function tokenRow(context: PageContext, words: ManageMessages, token: ApiToken): Markup {
  const { id, name, userId, role, scopes, lastUsedAt } = token;
  return html`<li><div class="row managed"><span class="state plain">${words.roles[role]}</span><span class="title">${visible(name)} <span class="meta">${visible(userId)} · ${scopes.map((scope) => words.scopes[scope]).join(", ")}</span></span><span class="meta">${lastUsedAt === null ? words.neverUsed : html`${words.lastUsed} ${moment(context, lastUsedAt)}`}</span>
${actionButton(context, { action: "/manage/tokens/end", label: words.revokeToken, style: "danger", fields: { token: id } })}</div></li>`;
}

/** Manages access: people of services, browsers, programs. For operators; `manageRoutes` checks that. */
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
