import type { Context } from "hono";
import { createManageSettings, type SettingRefusal } from "../../../application/web/edit-settings.ts";
import { type AgentRole, isCoderRole } from "../../../domain/chat/roster.ts";
import { manageMessagesFor } from "../../../domain/texts/texts.ts";
import { settingsPage } from "./manage-settings.ts";
import { respond, type Web, type WebApp, type WebEnv } from "../web.ts";

const ROLE_NAMES: readonly string[] = ["chat", "worker", "coder1", "coder2", "coder3"] satisfies AgentRole[];

/** Models, budget, schedules, trust. For operators; `manageRoutes` asks for that. */
export function settingsRoutes(app: WebApp, web: Web): void {
  const { host, flashes } = web;
  const { settings } = host;
  const wordsOf = (c: Context<WebEnv>) => manageMessagesFor(c.var.page.t.locale);
  const manageOf = (c: Context<WebEnv>) => createManageSettings(settings, wordsOf(c));
  const given = (c: Context<WebEnv>, name: string) => (c.var.form.get(name) ?? "").trim();
  const back = (c: Context<WebEnv>, settled: SettingRefusal) => {
    const notice = { ok: settled === null, text: settled ?? wordsOf(c).saved };
    return c.redirect(`/manage/settings?${flashes.keep(notice)}`, 303);
  };

  app.get("/manage/settings", async (c) => {
    const [read, modelNames, health] = await Promise.all([
      settings.read(),
      settings.modelNames(),
      host.health(),
    ]);
    const nextTimes = await Promise.all(
      read.config.schedules.map(({ cron, timezone }) =>
        settings.nextTime(cron, timezone ?? read.config.session.timezone),
      ),
    );
    return respond(
      settingsPage(c.var.page, {
        read,
        modelNames,
        health,
        nextTimes,
        trust: settings.trust(),
        notice: flashes.take(c.req.query("flash")),
      }),
    );
  });
  app.post("/manage/roles/:role", async (c) => {
    const role = c.req.param("role");
    if (!ROLE_NAMES.includes(role)) return c.notFound();
    const to = { provider: given(c, "provider"), model: given(c, "model") };
    return back(c, await manageOf(c).setRole(role as AgentRole, to));
  });
  app.post("/manage/default-coder", async (c) => {
    const role = given(c, "role") as AgentRole;
    return isCoderRole(role) ? back(c, await manageOf(c).setDefaultCoder(role)) : c.notFound();
  });
  app.post("/manage/budget", async (c) =>
    back(c, await manageOf(c).setBudget({ daily: given(c, "daily"), onExceed: given(c, "on_exceed") })),
  );
  app.post("/manage/notify", async (c) => back(c, await manageOf(c).setNotified(given(c, "chat"))));
  app.post("/manage/schedules", async (c) =>
    back(
      c,
      await manageOf(c).saveSchedule({
        name: given(c, "name"),
        cron: given(c, "cron"),
        timezone: given(c, "timezone"),
        chat: given(c, "chat"),
        message: given(c, "message"),
      }),
    ),
  );
  app.post("/manage/schedules/enable", async (c) =>
    back(c, await manageOf(c).enableSchedule(given(c, "name"), given(c, "enabled") === "1")),
  );
  app.post("/manage/schedules/remove", async (c) =>
    back(c, await manageOf(c).removeSchedule(given(c, "name"))),
  );
  app.post("/manage/trust", async (c) => back(c, await settings.trustSeen(given(c, "seen"))));
  app.post("/manage/distrust", async (c) => back(c, await settings.distrust(given(c, "folder"))));
}
