import type { Config, SettingEdit } from "../../config/config.ts";
import type { AgentRole, CoderRole } from "../../domain/chat/agents.ts";
import { LONGEST_CRON } from "../../domain/config/configured-kinds.ts";
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
  /** `whole`: what is so already is written, too. */
  async function change(edits: readonly SettingEdit[], whole = false): Promise<SettingRefusal> {
    const { config, lockedBy } = await store.read();
    const changed = edits.filter(({ path, value }) => whole || valueAt(config, path) !== value);
    for (const { path } of changed) {
      const key = path.filter((part) => typeof part === "string").join(".");
      // A list is set as a whole.
      const by = lockedBy(path[0] === "schedules" ? "schedules" : key);
      if (by !== null) return words.locked(key, by);
    }
    return changed.length === 0 ? null : store.change(changed);
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
      const edits = [
        { path: ["roles", role, "provider"], value: provider },
        { path: ["roles", role, "model"], value: model === "" ? null : model },
      ];
      // With another provider, the file must name the model, because the default belongs to the default provider.
      return change(edits, provider !== now.provider);
    },
    /** Whether questions stay on local models (`security.local_only`). */
    setLocalOnly: (localOnly: boolean) => change([{ path: ["security", "local_only"], value: localOnly }]),
    setDefaultCoder: (role: CoderRole) => change([{ path: ["roles", "default_coder"], value: role }]),
    /** `daily` as it was typed; empty: unlimited. */
    async setBudget(typed: { readonly daily: string; readonly onExceed: string }): Promise<SettingRefusal> {
      const daily = typed.daily === "" ? null : Number(typed.daily);
      if (daily !== null && !(Number.isFinite(daily) && daily >= 0)) return words.badBudget;
      return change([
        { path: ["budget", "daily"], value: daily },
        { path: ["budget", "on_exceed"], value: typed.onExceed },
      ]);
    },
    /** `<channel>:<chatId>`; empty: none. */
    setNotified: (chat: string) => change([{ path: ["notify", "chat"], value: chat === "" ? null : chat }]),
    /** One of that name is replaced. */
    async saveSchedule({ name, cron, timezone, chat, message }: ScheduleDraft): Promise<SettingRefusal> {
      const { config } = await store.read();
      if (timezone !== "" && (await store.nextTime(EVERY_DAY, timezone)) === null)
        return words.badTimezone(timezone);
      const zone = timezone === "" ? resolveTimeZone(config.session.timezone) : timezone;
      if (cron.length > LONGEST_CRON) return words.longCron(LONGEST_CRON);
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

function valueAt(config: Config, path: SettingEdit["path"]): unknown {
  return path.reduce<unknown>(
    (at, part) => (at as Record<string | number, unknown> | undefined)?.[part],
    config,
  );
}
