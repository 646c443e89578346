import { resolve } from "node:path";
import type { SettingEdit, SettingsStore } from "../application/ports/settings.ts";
import { sourceText } from "../config/describe.ts";
import { homeConfigFile } from "../config/home.ts";
import { loadConfig } from "../config/load.ts";
import {
  areCommandsTrusted,
  distrustWorkspace,
  trustedFolders,
  trustSubject,
  trustWorkspace,
} from "../config/trust.ts";
import { messagesFor } from "../domain/texts/messages.ts";
import { manageMessagesFor } from "../domain/texts/texts.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import type { ServeDeps } from "./serve-parts.ts";

const LIST_MS = 1_000;

/** The settings that the console changes; `reload` has the server take them up. */
export function createSettings(
  { env, options, home, state }: ServeDeps,
  reload: () => Promise<string | null>,
): SettingsStore {
  const { demo: _, ...place } = options;
  const file =
    options.configFile === undefined ? homeConfigFile(home) : resolve(options.cwd, options.configFile);
  const words = () => manageMessagesFor(state.current().locale);
  const workspace = () => state.current().workspace.root;

  async function change(edits: readonly SettingEdit[]): Promise<string | null> {
    const { editYaml } = await import("../config/edit-yaml.ts");
    const old = readTextFile(file);
    const text = editYaml(old ?? "", edits);
    if (text === null) return words().notEditable(file);
    const loaded = await loadConfig({ env, ...place, instead: { file, text } });
    const { configProblem } = messagesFor(state.current().locale);
    if (!loaded.ok) return [words().notAccepted, ...loaded.errors.map(configProblem)].join("\n");
    replaceFile(file, text);
    const refused = await reload();
    if (refused !== null) {
      replaceFile(file, old);
      await reload();
    }
    return refused;
  }

  /** One after the other: each reads what the one before wrote. */
  const turn: { last: Promise<unknown> } = { last: Promise.resolve() };

  return {
    change(edits) {
      const mine = turn.last.then(() => change(edits));
      turn.last = mine.catch(() => {});
      return mine;
    },
    async read() {
      const loaded = await loadConfig({ env, ...place });
      return {
        file,
        config: loaded.ok ? loaded.config : state.current().config,
        lockedBy: (key) => {
          const source = loaded.ok ? loaded.sources[key] : undefined;
          if (source === undefined || (source.kind === "file" && source.file === file)) return null;
          return sourceText(source);
        },
      };
    },
    trust: () => ({
      workspace: workspace(),
      trusted: areCommandsTrusted({ home, workspace: workspace() }),
      ...trustSubject(workspace()),
      folders: trustedFolders(home),
    }),
    async trustSeen(seen) {
      const done = trustWorkspace({ home, workspace: workspace(), now: new Date(), seen });
      if (!done.ok)
        return done.reason === "changed" ? words().trustChanged : words().notWritten(String(done.cause));
      const refused = await reload();
      if (refused !== null) distrustWorkspace({ home, workspace: done.workspace });
      return refused;
    },
    async distrust(folder) {
      return distrustWorkspace({ home, workspace: folder }) ? reload() : words().notTrusted(folder);
    },
    async modelNames() {
      const { ollama, providers } = state.current().config;
      const { listModels } = await import("../infrastructure/models/list-models.ts");
      const installed = await listModels(ollama.base_url, AbortSignal.timeout(LIST_MS));
      const named = Object.values(providers).flatMap(({ model }) => (model === null ? [] : [model]));
      return [...new Set([...(installed ?? []).map(({ name }) => name), ...named])];
    },
    async nextTime(cron, timezone) {
      const { nextTimeOf } = await import("../infrastructure/serve/inbox-schedules.ts");
      return nextTimeOf(cron, timezone, new Date());
    },
  };
}
