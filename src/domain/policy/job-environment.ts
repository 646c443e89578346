import { looksLikeSecretName } from "../platform/secret-name.ts";
import { gitVariables } from "./git-files.ts";

/** Variables that commands need to find programs, speak a language and keep time. */
const PASSED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|XDG_\w+|HOSTNAME|EDITOR|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|PYENV_ROOT|VIRTUAL_ENV|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY|npm_config_cafile|NPM_CONFIG_CAFILE)$/;

/** Git settings for a job: no background maintenance, and a stat cache that survives a copy of the files. */
const GIT_SETTINGS: readonly (readonly [string, string])[] = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.checkStat", "minimal"],
  ["core.trustctime", "false"],
  ["advice.detachedHead", "false"],
];

/** git asks nothing, and npm does not look for a newer npm. */
const QUIET = { GIT_TERMINAL_PROMPT: "0", npm_config_update_notifier: "false" };

export interface JobEnvironmentDeps {
  readonly host: Readonly<Record<string, string | undefined>>;
  /** `worker.env_pass`: names the user lets through, secrets included. */
  readonly pass: readonly string[];
  readonly view: Readonly<Record<string, string>>;
}

/** The environment of a job's processes: an allow-list; a variable that looks like a secret passes only by name. */
export function jobEnvironment({ host, pass, view }: JobEnvironmentDeps): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined) continue;
    if (pass.includes(name) || (PASSED.test(name) && !looksLikeSecretName(name))) env[name] = value;
  }
  const { JAVA_TOOL_OPTIONS: own } = env;
  const { JAVA_TOOL_OPTIONS: added } = view;
  return {
    ...env,
    ...QUIET,
    ...gitVariables(GIT_SETTINGS),
    ...view,
    // The user's options stay beside those that lead to the proxy, which come last and count.
    ...(own !== undefined && added !== undefined && { JAVA_TOOL_OPTIONS: `${own} ${added}` }),
  };
}
