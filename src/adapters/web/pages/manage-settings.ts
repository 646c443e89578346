import type { Context } from "hono";
import {
  type ApiToken,
  type HealthReport,
  type Pairing,
  type Person,
  type Role,
  SCOPES,
  type WebSession,
} from "../../../application/ports/serve.ts";
import type { SettingsRead, TrustState } from "../../../application/ports/web.ts";
import { createManageAccess, createPairingCodes } from "../../../application/serve/access.ts";
import { createManageSettings, type SettingRefusal } from "../../../application/web/edit-settings.ts";
import { type AgentRole, agentOf, isCoderRole } from "../../../domain/chat/agents.ts";
import { resolveTimeZone } from "../../../domain/platform/days.ts";
import { serveMessagesFor } from "../../../domain/texts/serve.ts";
import { type ManageMessages, manageMessagesFor } from "../../../domain/texts/web.ts";
import { formField, formSelect, managePage, noticeBox } from "../layout.ts";
import {
  actionButton,
  csrfField,
  healthTone,
  html,
  ICONS,
  type Markup,
  moment,
  seal,
  visible,
} from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, respond, type Web, type WebApp, type WebEnv } from "../web.ts";

interface SettingsView {
  readonly read: SettingsRead;
  readonly modelNames: readonly string[];
  readonly health: HealthReport;
  /** Of each schedule, in their order. */
  readonly nextTimes: readonly (Date | null)[];
  readonly trust: TrustState;
}

const ROLES: readonly AgentRole[] = ["chat", "worker", "coder1", "coder2", "coder3"];

function settingsPage(context: PageContext, view: SettingsView): Markup {
  return managePage(
    context,
    "settings",
    (words) => html`<p class="note">${words.settingsIntro(view.read.file)}</p>
${modelsSection(context, words, view)}${budgetSection(context, words, view)}${schedulesSection(context, words, view)}${notifySection(context, words, view)}${trustSection(context, words, view)}`,
  );
}

/** The result of a form, shown beside it, and the typed values where it was refused. */
function formState({ notice }: PageContext, at: string) {
  const mine = notice?.at === at ? notice : undefined;
  return {
    box: noticeBox(mine),
    value: (name: string, saved: string | number | null) => mine?.typed?.[name] ?? saved,
  };
}

function modelsSection(context: PageContext, words: ManageMessages, view: SettingsView): Markup {
  const { config } = view.read;
  const providers = withName(["ollama", ...Object.keys(config.providers)]);
  const coders = Object.fromEntries(ROLES.slice(2).map((role) => [role, agentOf(role)]));
  return html`<section aria-labelledby="models"><h2 id="models">${words.modelsTitle}</h2><p class="note">${words.modelsIntro}</p>
<datalist id="model-names">${view.modelNames.map((name) => html`<option value="${name}"></option>`)}</datalist>
<ul class="rows">${ROLES.map((role) => {
    const { provider, model } = config.roles[role];
    const check = view.health.checks.find(({ name }) => name === `model ${role}`);
    const by = view.read.lockedBy(`roles.${role}.model`) ?? view.read.lockedBy(`roles.${role}.provider`);
    const { box, value } = formState(context, `role-${role}`);
    return html`<li id="role-${role}"><div class="row managed">${seal(agentOf(role))}<span class="title">${agentOf(role)} <span class="meta">${role}</span></span>
${check !== undefined && html`<span class="state ${healthTone(check)}">${visible(check.detail.split("\n")[0] ?? "").slice(0, 160)}</span>`}
<form method="post" action="/manage/roles/${role}" class="fields">${csrfField(context)}${formField(words.provider, formSelect("provider", providers, String(value("provider", provider))))}${formField(words.model, html`<input name="model" list="model-names" value="${value("model", model)}" placeholder="${config.providers[provider]?.model}" maxlength="200" autocomplete="off">`)}${by === null ? html`<button type="submit">${words.save}</button>` : html`<span class="meta">${words.lockedBy(by)}</span>`}</form>${box}</div></li>`;
  })}</ul>
<form method="post" action="/manage/local-only" class="fields" id="local-only">${csrfField(context)}${formField(words.localOnly, formSelect("local_only", words.localOnlyChoices, String(formState(context, "local-only").value("local_only", String(config.security.local_only)))))}<button type="submit">${words.save}</button></form>${formState(context, "local-only").box}
<form method="post" action="/manage/default-coder" class="fields" id="default-coder">${csrfField(context)}${formField(words.defaultCoder, formSelect("role", coders, config.roles.default_coder))}<button type="submit">${words.save}</button></form>${formState(context, "default-coder").box}</section>`;
}

function budgetSection(context: PageContext, words: ManageMessages, view: SettingsView): Markup {
  const { daily, on_exceed: onExceed } = view.read.config.budget;
  const { box, value } = formState(context, "budget");
  return html`<section aria-labelledby="budget"><h2 id="budget">${words.budgetTitle}</h2><p class="note">${words.budgetIntro}</p>
<form method="post" action="/manage/budget" class="fields">${csrfField(context)}${formField(words.daily, html`<input name="daily" type="number" min="0" step="any" value="${value("daily", daily)}">`, words.dailyHint)}${formField(words.onExceed, formSelect("on_exceed", words.onExceedChoices, String(value("on_exceed", onExceed))))}<button type="submit">${words.save}</button></form>${box}</section>`;
}

function schedulesSection(context: PageContext, words: ManageMessages, view: SettingsView): Markup {
  const { schedules, session } = view.read.config;
  const { box, value } = formState(context, "schedules");
  const input = (name: string, max: number) =>
    html`<input name="${name}" required maxlength="${max}" value="${value(name, "")}" autocomplete="off">`;
  return html`<section aria-labelledby="schedules"><h2 id="schedules">${words.schedulesTitle}</h2>
${
  schedules.length === 0
    ? html`<p class="note">${words.schedulesEmpty}</p>`
    : html`<ul class="rows">${schedules.map(({ name, cron, chat, message, enabled }, n) => {
        const next = view.nextTimes[n]?.toISOString();
        return html`<li><div class="row managed"><span class="state ${enabled ? "good" : "off"}">${visible(name)}</span><span class="title">${visible(message)}</span><span class="meta"><code>${cron}</code> · ${visible(chat)} · ${enabled ? next !== undefined && html`${words.next} ${moment(context, next)}` : words.off}</span>
${actionButton(context, { action: "/manage/schedules/enable", label: enabled ? words.turnOff : words.turnOn, fields: { name, enabled: enabled ? "0" : "1" } })}${actionButton(context, { action: "/manage/schedules/remove", label: words.remove, style: "danger", fields: { name } })}</div></li>`;
      })}</ul>`
}
<form method="post" action="/manage/schedules" class="fields">${csrfField(context)}${formField(words.name, input("name", 60))}${formField(words.cron, input("cron", 100), words.cronHint)}${formField(words.timezone, html`<input name="timezone" maxlength="60" value="${value("timezone", "")}" autocomplete="off">`, words.timezoneHint(resolveTimeZone(session.timezone)))}${formField(words.chat, input("chat", 200), words.chatHint)}${formField(words.message, input("message", 2000))}<button type="submit">${words.addSchedule}</button></form>${box}</section>`;
}

function notifySection(context: PageContext, words: ManageMessages, view: SettingsView): Markup {
  const { box, value } = formState(context, "notify");
  return html`<section aria-labelledby="notify"><h2 id="notify">${words.notifyTitle}</h2><p class="note">${words.notifyIntro}</p>
<form method="post" action="/manage/notify" class="fields">${csrfField(context)}${formField(words.chat, html`<input name="chat" value="${value("chat", view.read.config.notify.chat)}" maxlength="200" autocomplete="off">`, words.notifyHint)}<button type="submit">${words.save}</button></form>${box}</section>`;
}

function trustSection(context: PageContext, words: ManageMessages, view: SettingsView): Markup {
  const { workspace, trusted, text, commands, seen, folders } = view.trust;
  return html`<section aria-labelledby="trust"><h2 id="trust">${words.trustTitle}</h2><p class="note">${words.trustIntro}</p>${formState(context, "trust").box}
<p><span class="state ${trusted ? "good" : "waiting"}">${trusted ? words.trusted : words.notTrustedYet}</span> <code>${visible(workspace)}</code></p>
${text === null ? html`<p class="note">${words.noFile}</p>` : html`<pre class="code" tabindex="0"><code>${visible(text)}</code></pre>`}
${commands.map((one) => html`<details><summary><code>${visible(one.path)}</code></summary><pre class="code" tabindex="0"><code>${visible(one.text)}</code></pre></details>`)}
${!trusted && actionButton(context, { action: "/manage/trust", label: words.trust, fields: { seen } })}
${folders.length > 0 && html`<ul class="rows">${folders.map((one) => html`<li><div class="row managed"><span class="title"><code>${visible(one.workspace)}</code></span><span class="meta">${words.trustedSince} ${moment(context, one.at)}</span>${actionButton(context, { action: "/manage/distrust", label: words.distrust, style: "danger", fields: { folder: one.workspace } })}</div></li>`)}</ul>`}</section>`;
}

/** Of one field that is kept until the page is drawn. */
const MOST_TYPED = 2_000;

const withName = (names: readonly string[]) =>
  Object.fromEntries([...new Set(names)].map((name) => [name, name]));

const wordsOf = (c: Context<WebEnv>) => manageMessagesFor(c.var.page.t.locale);
const given = (c: Context<WebEnv>, name: string) => (c.var.form.get(name) ?? "").trim();

type ManageSettings = ReturnType<typeof createManageSettings>;

function settingsRoutes(app: WebApp, web: Web): void {
  const { host, flashes } = web;
  const { settings } = host;
  const manageOf = (c: Context<WebEnv>) => createManageSettings(settings, wordsOf(c));
  /** Back to the form that was sent: with what was typed into it, where it was refused. */
  const back = (c: Context<WebEnv>, at: string, settled: SettingRefusal) => {
    const fields = [...c.var.form].filter(([name]) => name !== "csrf");
    const typed = Object.fromEntries(fields.map(([name, value]) => [name, value.slice(0, MOST_TYPED)]));
    const notice =
      settled === null ? { ok: true, text: wordsOf(c).saved, at } : { ok: false, text: settled, at, typed };
    return c.redirect(`/manage/settings?${flashes.keep(notice)}#${at}`, 303);
  };

  app.get("/manage/settings", async (c) => {
    const [read, modelNames, health] = await Promise.all([
      settings.read(),
      settings.modelNames(),
      host.health(),
    ]);
    const nextTimes = await Promise.all(
      read.config.schedules.map(({ cron, timezone }) =>
        settings.nextTime(cron, timezone ?? resolveTimeZone(read.config.session.timezone)),
      ),
    );
    const trust = settings.trust();
    return respond(settingsPage(c.var.page, { read, modelNames, health, nextTimes, trust }));
  });
  app.post("/manage/roles/:role", async (c) => {
    const role = ROLES.find((one) => one === c.req.param("role"));
    if (role === undefined) return c.notFound();
    const to = { provider: given(c, "provider"), model: given(c, "model") };
    return back(c, `role-${role}`, await manageOf(c).setRole(role, to));
  });
  app.post("/manage/default-coder", async (c) => {
    const role = given(c, "role") as AgentRole;
    return isCoderRole(role)
      ? back(c, "default-coder", await manageOf(c).setDefaultCoder(role))
      : c.notFound();
  });
  const saveBy = (
    address: string,
    at: string,
    save: (manage: ManageSettings, field: (name: string) => string) => Promise<SettingRefusal>,
  ) => app.post(address, async (c) => back(c, at, await save(manageOf(c), (name) => given(c, name))));
  saveBy("/manage/local-only", "local-only", (manage, field) =>
    manage.setLocalOnly(field("local_only") !== "false"),
  );
  saveBy("/manage/budget", "budget", (manage, field) =>
    manage.setBudget({ daily: field("daily"), onExceed: field("on_exceed") }),
  );
  saveBy("/manage/notify", "notify", (manage, field) => manage.setNotified(field("chat")));
  saveBy("/manage/schedules", "schedules", (manage, field) =>
    manage.saveSchedule({
      name: field("name"),
      cron: field("cron"),
      timezone: field("timezone"),
      chat: field("chat"),
      message: field("message"),
    }),
  );
  saveBy("/manage/schedules/enable", "schedules", (manage, field) =>
    manage.enableSchedule(field("name"), field("enabled") === "1"),
  );
  saveBy("/manage/schedules/remove", "schedules", (manage, field) => manage.removeSchedule(field("name")));
  saveBy("/manage/trust", "trust", (_, field) => settings.trustSeen(field("seen")));
  saveBy("/manage/distrust", "trust", (_, field) => settings.distrust(field("folder")));
}

export const managePages: ConsolePages = {
  section: { address: "/manage", icon: ICONS.manage, label: (t) => t.nav.manage, operatorsOnly: true },
  routes(app, web) {
    accessRoutes(app, web);
    settingsRoutes(app, web);
  },
};

interface AccessView {
  readonly now: Awaited<ReturnType<ReturnType<typeof createManageAccess>["now"]>>;
  readonly own: string;
  /** The secret that was just made and is shown once. */
  readonly made?: { readonly text: string; readonly secret: string };
}

function accessPage(context: PageContext, { now, own, made }: AccessView): Markup {
  return managePage(
    context,
    "access",
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
function accessRoutes(app: WebApp, web: Web): void {
  const { host, flashes, signIn } = web;
  const pairing = createPairingCodes({ ...host, messages: () => serveMessagesFor(host.locale()) });
  const manage = createManageAccess({ ...host, signIn });

  const show = async (c: Context<WebEnv>, more: Pick<AccessView, "made"> = {}) =>
    respond(
      accessPage(c.var.page, {
        now: await manage.now(),
        own: c.var.person.session.hash,
        ...more,
      }),
    );
  const back = (c: Context<WebEnv>, ok: boolean, text: string) =>
    c.redirect(`/manage?${flashes.keep({ ok, text })}`, 303);
  const roleIn = (c: Context<WebEnv>): Role => (given(c, "role") === "operator" ? "operator" : "user");
  const personIn = (c: Context<WebEnv>) => ({ channel: given(c, "channel"), userId: given(c, "user") });

  app.get("/manage", (c) => show(c));
  app.post("/manage/people", async (c) => {
    const person = await pairing.confirm(given(c, "code"), roleIn(c), given(c, "name") || null);
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
    const done = await host.access.removePerson(who.channel, who.userId);
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
    const made = await manage.makeToken({ name, userId: user, role: roleIn(c) }, scopes);
    const words = wordsOf(c);
    if (made === "bad-user") return back(c, false, words.badUser);
    if (made === "incomplete") return back(c, false, words.tokenIncomplete);
    return show(c, { made: { text: words.tokenMade(name), secret: made } });
  });
}
