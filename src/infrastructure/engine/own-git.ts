import { spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import type { OwnGit } from "../../application/ports/jobs.ts";
import { isWithin } from "../../domain/platform/paths.ts";
import { isHarmlessSetting } from "../../domain/policy/git-files.ts";
import { gitProgram, ISOLATED_GIT_ENV } from "../platform/git-roots.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Finds git where no job could have put one, and reads the user's configuration now: what a job writes in its home has no say. */
export function findOwnGit(workspace: string, env: Env): OwnGit | null {
  const home = env.HOME ?? "/";
  const avoid = home === "/" ? [workspace] : [workspace, home];
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const program = gitProgram(folders, avoid);
  if (program === null) return null;
  const settings = userSettings(program, workspace, env);
  const path = folders.filter((folder) => !isWithin(folder, avoid));
  const local = new Set(settings.filter(({ scope }) => OF_THE_REPOSITORY.has(scope)).map(({ name }) => name));
  const passed = settings.filter(
    ({ name, scope, value }) =>
      !OF_THE_REPOSITORY.has(scope) && !local.has(name) && isPassed({ name, value }),
  );
  return {
    program,
    path: path.join(delimiter),
    env: ISOLATED_GIT_ENV,
    settings: passed.map(({ name, value }) => [name, value]),
    filters: [...new Set(settings.flatMap(({ name }) => /^filter\.(.*)\.[^.]+$/s.exec(name)?.[1] ?? []))],
  };
}

const OF_THE_REPOSITORY: ReadonlySet<string> = new Set(["local", "worktree"]);

/** The settings that decide a commit's message and content. Programs are only those that convert files for git. */
function isPassed(setting: { readonly name: string; readonly value: string }): boolean {
  return (
    isHarmlessSetting(setting) ||
    /^filter\..*\.(clean|smudge|process|required)$/s.test(setting.name) ||
    /^(core\.(excludesfile|attributesfile)|safe\.directory)$/.test(setting.name)
  );
}

interface ScopedSetting {
  readonly scope: string;
  readonly name: string;
  readonly value: string;
}

/** In the workspace, since the user's configuration may depend on where it is read. */
function userSettings(program: string, workspace: string, env: Env): ScopedSetting[] {
  const asked = spawnSync(
    program,
    ["-c", "safe.bareRepository=explicit", "config", "--list", "--includes", "--show-scope", "-z"],
    {
      cwd: workspace,
      env: { PATH: env.PATH, HOME: env.HOME, XDG_CONFIG_HOME: env.XDG_CONFIG_HOME },
      encoding: "utf8",
      timeout: 10_000,
      maxBuffer: 16 * 1024 ** 2,
    },
  );
  if (asked.status !== 0) return [];
  const fields = asked.stdout.split("\0");
  const settings: ScopedSetting[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const scope = fields[i] as string;
    const said = fields[i + 1] as string;
    const line = said.indexOf("\n");
    if (scope === "command") continue;
    settings.push({
      scope,
      name: line < 0 ? said : said.slice(0, line),
      value: line < 0 ? "true" : said.slice(line + 1),
    });
  }
  return settings;
}
