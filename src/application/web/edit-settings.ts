import type { Config, SettingEdit } from "../../config/config.ts";
import type { AgentRole, CoderRole } from "../../domain/chat/agents.ts";
import { resolveTimeZone } from "../../domain/platform/days.ts";
import type { ManageMessages } from "../../domain/texts/web.ts";
import type { Schedule } from "../ports/serve.ts";
import type { SettingsStore } from "../ports/web.ts";

/** Null when it was done, else why not, for a person. */
export type SettingRefusal = string | null;

interface ScheduleDraft extends Pick<Schedule, "name" | "cron" | "chat" | "message"> {
  /** Empty: the session's. */
  readonly timezone: string;
}

/** A rule that is due in every time zone there is. */
const EVERY_DAY = "0 0 * * *";

/** The changes that an operator makes in the console. Each is one change of the file, or none. */
export function createManageSettings(
  store: Pick<SettingsStore, "read" | "change" | "nextTime">,
  words: ManageMessages,
) {
  async function change(edits: readonly SettingEdit[]): Promise<SettingRefusal> {
    const { lockedBy } = await store.read();
    for (const { path } of edits) {
      const key = path.filter((part) => typeof part === "string").join(".");
      // A list is set as a whole.
      const by = lockedBy(path[0] === "schedules" ? "schedules" : key);
      if (by !== null) return words.locked(key, by);
    }
    return edits.length === 0 ? null : store.change(edits);
  }

  async function atSchedule(
    name: string,
    edit: (index: number, config: Config) => readonly SettingEdit[],
  ): Promise<SettingRefusal> {
    const { config } = await store.read();
    const index = config.schedules.findIndex((one) => one.name === name);
    return index === -1 ? words.scheduleUnknown(name) : change(edit(index, config));
  }

  return {
    async setRole(
      role: AgentRole,
      { provider, model }: { readonly provider: string; readonly model: string },
    ): Promise<SettingRefusal> {
      const now = (await store.read()).config.roles[role];
      const chosen = model === "" ? null : model;
      return change([
        ...(provider === now.provider ? [] : [{ path: ["roles", role, "provider"], value: provider }]),
        // With another provider, the file must name the model, because the default belongs to the default provider.
        ...(chosen === now.model && provider === now.provider
          ? []
          : [{ path: ["roles", role, "model"], value: chosen }]),
      ]);
    },
    /** Whether questions stay on local models (`security.local_only`). */
    async setLocalOnly(localOnly: boolean): Promise<SettingRefusal> {
      const now = (await store.read()).config.security.local_only;
      return change(localOnly === now ? [] : [{ path: ["security", "local_only"], value: localOnly }]);
    },
    async setDefaultCoder(role: CoderRole): Promise<SettingRefusal> {
      const now = (await store.read()).config.roles.default_coder;
      return change(role === now ? [] : [{ path: ["roles", "default_coder"], value: role }]);
    },
    /** `daily` as it was typed; empty: unlimited. */
    async setBudget({
      daily,
      onExceed,
    }: {
      readonly daily: string;
      readonly onExceed: string;
    }): Promise<SettingRefusal> {
      const { budget } = (await store.read()).config;
      const dollars = daily === "" ? null : Number(daily);
      if (dollars !== null && !(Number.isFinite(dollars) && dollars >= 0)) return words.badBudget;
      return change([
        ...(dollars === budget.daily ? [] : [{ path: ["budget", "daily"], value: dollars }]),
        ...(onExceed === budget.on_exceed ? [] : [{ path: ["budget", "on_exceed"], value: onExceed }]),
      ]);
    },
    /** `<channel>:<chatId>`; empty: none. */
    async setNotified(chat: string): Promise<SettingRefusal> {
      const chosen = chat === "" ? null : chat;
      const now = (await store.read()).config.notify.chat;
      return change(chosen === now ? [] : [{ path: ["notify", "chat"], value: chosen }]);
    },
    /** One of that name is replaced. */
    async saveSchedule({ name, cron, timezone, chat, message }: ScheduleDraft): Promise<SettingRefusal> {
      const { config } = await store.read();
      if (timezone !== "" && (await store.nextTime(EVERY_DAY, timezone)) === null)
        return words.badTimezone(timezone);
      const zone = timezone === "" ? resolveTimeZone(config.session.timezone) : timezone;
      if ((await store.nextTime(cron, zone)) === null) return words.badCron(cron);
      const index = config.schedules.findIndex((one) => one.name === name);
      const value = { name, cron, ...(timezone !== "" && { timezone }), chat, message };
      return change([{ path: ["schedules", index === -1 ? config.schedules.length : index], value }]);
    },
    enableSchedule: (name: string, enabled: boolean): Promise<SettingRefusal> =>
      atSchedule(name, (index) => [{ path: ["schedules", index, "enabled"], value: enabled }]),
    removeSchedule: (name: string): Promise<SettingRefusal> =>
      atSchedule(name, (index, { schedules }) => [
        { path: schedules.length === 1 ? ["schedules"] : ["schedules", index], value: undefined },
      ]),
  };
}
