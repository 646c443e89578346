import { existsSync } from "node:fs";
import type { Models } from "../../application/ports/models.ts";
import type { SettingsStore } from "../../application/ports/web.ts";
import type { ServeState } from "../../application/serve/server.ts";
import { createSetUpSteps, type SetupStepsDeps } from "../../application/setup/setup-steps.ts";
import {
  type Config,
  isOwnVariable,
  type LoadedConfig,
  type LoadInput,
  type Secrets,
  type SettingEdit,
} from "../../config/config.ts";
import { describeConfig, loadConfig, loadEdited, sourceText } from "../../config/load.ts";
import {
  areCommandsTrusted,
  distrustWorkspace,
  trustedFolders,
  trustSubject,
  trustWorkspace,
} from "../../config/trust.ts";
import { listProblems } from "../../domain/texts/config-problem.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { manageMessagesFor } from "../../domain/texts/web.ts";
import type { ConfigLine, WebHost } from "./host.ts";

export interface SettingsDeps {
  readonly place: LoadInput;
  readonly home: string;
  readonly file: string;
  readonly current: () => ServeState;
  /** Has the server take up what was written; null, or why not. */
  readonly reload: () => Promise<string | null>;
  /** Null: there is no file. */
  readonly readText: (file: string) => string | null;
  /** Null takes the file away. */
  readonly replaceFile: (file: string, text: string | null) => void;
  readonly openModels: (config: Config, secrets: Secrets) => Models;
  readonly listInstalled: (baseUrl: string) => Promise<readonly string[]>;
  /** The hosts that the files of a folder and the remotes of its own repository name now. */
  readonly namedHosts: (folder: string) => Promise<readonly string[]>;
  readonly nextTime: SettingsStore["nextTime"];
  readonly secrets: Secrets;
  readonly now: () => Date;
}

const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"] as const;

export function createSettings(deps: SettingsDeps): SettingsStore {
  const { place, home, file, current, reload, replaceFile } = deps;
  const words = () => manageMessagesFor(current().locale);
  const workspace = () => current().workspace.root;

  async function change(edits: readonly SettingEdit[]): Promise<string | null> {
    const old = deps.readText(file);
    const edited = await loadEdited(place, file, old ?? "", edits);
    if (edited === null) return words().notEditable(file);
    const { text, loaded } = edited;
    const messages = messagesFor(current().locale);
    if (!loaded.ok) return [words().notAccepted, ...listProblems(messages, loaded.errors)].join("\n");
    const broken = findBrokenRole(deps, loaded, edits);
    if (broken !== null) return `${words().notAccepted}\n${broken}`;
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
      const loaded = await loadConfig(place);
      const config = loaded.ok ? loaded.config : current().config;
      const isSet = (key: string) => loaded.ok && loaded.sources[key] !== undefined;
      // The default model is of the default provider: a role that names another provider alone uses the model of that one.
      const isOther = (role: string) => isSet(`roles.${role}.provider`) && !isSet(`roles.${role}.model`);
      const roles = ROLES.map((role) => [
        role,
        { ...config.roles[role], ...(isOther(role) && { model: null }) },
      ]);
      return {
        file,
        config: { ...config, roles: { ...config.roles, ...Object.fromEntries(roles) } },
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
      const done = trustWorkspace({
        home,
        workspace: workspace(),
        now: deps.now(),
        seen,
        hosts: await deps.namedHosts(workspace()),
      });
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
      const { ollama, providers } = current().config;
      const named = Object.values(providers).flatMap(({ model }) => (model === null ? [] : [model]));
      return [...new Set([...(await deps.listInstalled(ollama.base_url)), ...named])];
    },
    nextTime: deps.nextTime,
  };
}

/** A role that could not be asked any more, with the reason; one that cannot be asked as it is now stays as it is. */
function findBrokenRole(
  { current, openModels, secrets }: SettingsDeps,
  changed: Pick<LoadedConfig, "config" | "secrets">,
  edits: readonly SettingEdit[],
): string | null {
  if (!edits.some(({ path }) => path[0] === "roles" || path[0] === "security")) return null;
  const before = openModels(current().config, secrets);
  const next = openModels(changed.config, changed.secrets);
  for (const role of ROLES) {
    const [then, now] = [next.forRole(role), before.forRole(role)];
    if (!("generate" in then) && ("generate" in now || now.code !== then.code)) return then.message;
  }
  return null;
}

/** The steps of `init` for the console, while there is no configuration. */
export function createFirstSetUp(
  { place, file, demo }: Pick<SettingsDeps, "place" | "file"> & { readonly demo: boolean },
  steps: SetupStepsDeps,
): WebHost["setUp"] {
  return {
    async isNeeded() {
      if (demo || existsSync(file)) return false;
      const loaded = await loadConfig(place);
      if (!loaded.ok) return false;
      const chosen = Object.entries(loaded.sources).filter(
        ([, source]) => source.kind !== "environment" || isOwnVariable(source),
      );
      return !chosen.some(([key]) => /^(?:roles|providers)\./.test(key));
    },
    steps: createSetUpSteps(steps),
  };
}

/** The configuration that this process works with. Later manual edits of the file are shown next to it. */
export async function configurationLines({
  place,
  secrets,
  current,
}: Pick<SettingsDeps, "place" | "secrets" | "current">): Promise<ConfigLine[]> {
  const loaded = await loadConfig(place);
  const sources = loaded.ok ? loaded.sources : {};
  const { config } = current();
  const next = new Map(
    loaded.ok ? describeConfig(loaded).map(({ key, value }) => [key, JSON.stringify(value)]) : [],
  );
  return describeConfig({ config, sources, secrets }).map(({ key, value, source }) => {
    const [now, later] = [JSON.stringify(value), next.get(key)];
    return {
      key,
      value: now,
      source: source.kind === "default" ? null : sourceText(source),
      ...(later !== undefined && later !== now && { next: later }),
    };
  });
}
