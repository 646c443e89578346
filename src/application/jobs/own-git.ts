import type { RunGit } from "./commit-anyway.ts";
import { type RunProcessDeps, runInView } from "./run-shell.ts";

/** The git that PicoClaw runs for itself: nothing that a job left decides which program it is or what it runs. */
export interface OwnGit {
  /** Absolute, where no job can write. */
  readonly program: string;
  /** Folders for programs that it runs itself, such as filters of the user. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the user's own configuration said before the job: who commits, and how files are kept. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** Names of the filters that the configuration had before the job. */
  readonly filters: readonly string[];
}

/** Variables of a job that our own git needs. */
const PASSED = /^(HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_CONFIG_HOME)$/;

const QUIET: OwnGit["settings"] = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.checkStat", "minimal"],
  ["core.trustctime", "false"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["safe.bareRepository", "explicit"],
];

/** Our own git in the view of a job. Hooks run only where the user wants them, and then as they would for the user. */
export function ownGitIn(
  parts: RunProcessDeps,
  git: OwnGit,
  { runHooks, timeoutSeconds }: { readonly runHooks: boolean; readonly timeoutSeconds: number },
): RunGit {
  const folder = parts.transaction.directory as string;
  const settings = [
    ...git.settings,
    ...QUIET,
    ...(runHooks ? [] : ([["core.hooksPath", "/dev/null"]] as const)),
  ];
  const env: Record<string, string> = {
    ...git.env,
    PATH: runHooks ? (parts.env.PATH ?? git.path) : git.path,
  };
  for (const [name, value] of Object.entries(parts.env)) if (PASSED.test(name)) env[name] = value;
  env.GIT_CONFIG_COUNT = String(settings.length);
  settings.forEach(([name, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = name;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  return (...args) => runInView(parts, [git.program, ...args], env, folder, timeoutSeconds);
}
