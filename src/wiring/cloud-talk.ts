import { resolve } from "node:path";
import type { CloudTalk } from "../application/chat/chat-turn.ts";
import type { Models } from "../application/ports/models.ts";
import type { SettingEdit } from "../config/config.ts";
import { homeConfigFile } from "../config/environment.ts";
import { loadEdited } from "../config/load.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import { openModels } from "./models.ts";
import type { Services } from "./services.ts";

function talkEdits(to: CloudTalk): readonly SettingEdit[] {
  const role = to === null ? undefined : { provider: to.provider, model: to.model };
  return [
    { path: ["security", "local_only"], value: to === null ? undefined : false },
    { path: ["roles", "chat"], value: role },
    { path: ["roles", "worker"], value: role },
  ];
}

/** Returns a text if nothing was changed: the file is not valid YAML, or another setting decides. */
export async function writeCloudTalk(
  { env, home, options, locale }: Services,
  to: CloudTalk,
  use: (models: Models) => void,
): Promise<string | null> {
  const { configFile, cwd, workspace } = options;
  const file = configFile === undefined ? homeConfigFile(home) : resolve(cwd, configFile);
  const place = {
    env,
    cwd,
    ...(workspace !== undefined && { workspace }),
    ...(configFile !== undefined && { configFile }),
  };
  const edited = await loadEdited(place, file, readTextFile(file) ?? "", talkEdits(to));
  if (edited === null) return file;
  const { text, loaded } = edited;
  if (!loaded.ok) return loaded.errors.map(({ code }) => code).join(", ");
  const source = loaded.sources["security.local_only"];
  if (loaded.config.security.local_only !== (to === null))
    return `security.local_only: ${source === undefined ? "" : source.kind}`;
  replaceFile(file, text);
  use(openModels(loaded.config, loaded.secrets, { env, home, locale }));
  return null;
}
