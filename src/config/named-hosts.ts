/**
 * The hosts that settings of package managers and git remotes name. In: a home with its variables, a workspace, or the common git
 * directory of its own repository (the callers find that one: a repository above may be another's). Out: addresses as URLs, or
 * host names of remotes. Reads plain files only, at most 1 MiB each; a file that cannot be read names no host.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { attemptOr } from "../domain/platform/error-text.ts";
import { canonicalHost } from "../domain/policy/network.ts";

/** A settings file, and the lines of it whose addresses count. */
type NamingFile = readonly [path: string, lines: RegExp];

const NPM = /^\s*(?:@[^:=\s]+:)?registry\s*=/i;
const PIP = /^\s*(?:index-url|extra-index-url|find-links|index|url)\s*=/i;
const YARN = /^\s*["']?npmRegistryServer["']?\s*:/;
const CARGO = /^\s*(?:registry|index|replace-with)\s*=/;
const MAVEN = /<url>/;
const GO = /^\s*(?:GOPROXY|GOSUMDB)\s*=/;
const UV = /^\s*(?:url|index-url|extra-index-url|default-index)\s*=/;
const REQUIREMENTS = /^\s*(?:-i|--index-url|--extra-index-url)\b/;
const GRADLE = /\burl\b/;

const IN_HOME: readonly NamingFile[] = [
  [".npmrc", NPM],
  [".yarnrc.yml", YARN],
  [".config/pip/pip.conf", PIP],
  [".pip/pip.conf", PIP],
  [".config/uv/uv.toml", UV],
  [".config/go/env", GO],
  [".cargo/config.toml", CARGO],
  [".cargo/config", CARGO],
  [".m2/settings.xml", MAVEN],
];

const OF_WORKSPACE: readonly NamingFile[] = [
  [".npmrc", NPM],
  [".yarnrc.yml", YARN],
  ["pip.conf", PIP],
  ["uv.toml", UV],
  ["pyproject.toml", UV],
  ["requirements.txt", REQUIREMENTS],
  [".cargo/config.toml", CARGO],
  [".cargo/config", CARGO],
  ["pom.xml", MAVEN],
  ["settings.gradle", GRADLE],
  ["settings.gradle.kts", GRADLE],
  ["build.gradle", GRADLE],
  ["build.gradle.kts", GRADLE],
];

const VARIABLES = `
  GOPROXY GOSUMDB PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX UV_INDEX
  npm_config_registry NPM_CONFIG_REGISTRY YARN_NPM_REGISTRY_SERVER
`
  .trim()
  .split(/\s+/);

/** The addresses in the user's own settings of package managers: files of the home, of the system, and variables. */
export function userAddresses(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const home = env.HOME ?? "";
  const files: NamingFile[] = [
    ...(home === "" ? [] : IN_HOME.map(([path, lines]): NamingFile => [join(home, path), lines])),
    ["/etc/pip.conf", PIP],
    ...(env.NPM_CONFIG_USERCONFIG ? [[env.NPM_CONFIG_USERCONFIG, NPM] as const] : []),
    ...(env.PIP_CONFIG_FILE ? [[env.PIP_CONFIG_FILE, PIP] as const] : []),
    ...(env.CARGO_HOME ? [[join(env.CARGO_HOME, "config.toml"), CARGO] as const] : []),
  ];
  const words = VARIABLES.flatMap((name) => addressesIn(env[name] ?? ""));
  return [...new Set([...files.flatMap(namedBy), ...words])];
}

/** The hosts that files of a workspace and the remotes of its repository name: they count once the user trusts the folder. */
export function workspaceHosts(workspace: string, gitDirectory: string | null): readonly string[] {
  const addresses = OF_WORKSPACE.flatMap(([path, lines]) => namedBy([join(workspace, path), lines]));
  const named = addresses.flatMap((address) => endpointOf(address) ?? []);
  return [...new Set([...named, ...remoteHosts(gitDirectory)])].sort();
}

function endpointOf(address: string): string | null {
  const url = URL.parse(address);
  const host = url === null ? undefined : canonicalHost(url.hostname);
  if (url === null || host === undefined) return null;
  return url.port === "" ? host : `${url.hostname}:${url.port}`;
}

function namedBy([path, lines]: NamingFile): readonly string[] {
  const text = readPlain(path);
  const named = text.split("\n").filter((line) => lines.test(line));
  return named.flatMap(addressesIn);
}

const ADDRESS = /https?:\/\/[^\s"'<>|,;)]+/g;

function addressesIn(text: string): readonly string[] {
  return [...text.matchAll(ADDRESS)].map(([address]) => address);
}

/** The hosts of the remotes of a repository, as its git directory has them now; null: there is no repository. */
export function remoteHosts(gitDirectory: string | null): readonly string[] {
  if (gitDirectory === null) return [];
  const hosts: string[] = [];
  let isRemote = false;
  for (const line of readPlain(join(gitDirectory, "config")).split("\n")) {
    if (/^\s*\[/.test(line)) isRemote = /^\s*\[remote\s/i.test(line);
    const [, url] = /^\s*(?:url|pushurl)\s*=\s*"?([^"\s]+)/i.exec(line) ?? [];
    const host = isRemote && url !== undefined ? remoteHost(url) : null;
    if (host !== null) hosts.push(host);
  }
  return [...new Set(hosts)];
}

/** `https://host/…`, `ssh://git@host/…` and `git@host:path`; null for a path of this machine. */
function remoteHost(url: string): string | null {
  if (/^(?:https?|ssh|git):\/\//i.test(url)) {
    const parsed = URL.parse(url);
    const host = parsed === null ? undefined : canonicalHost(parsed.hostname);
    if (parsed === null || host === undefined) return null;
    return parsed.port === "" || !/^http/i.test(url) ? host : `${parsed.hostname}:${parsed.port}`;
  }
  const [, host] = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/\/)/.exec(url) ?? [];
  return (host === undefined ? undefined : canonicalHost(host)) ?? null;
}

const MOST_BYTES = 1024 * 1024;

function readPlain(path: string): string {
  return attemptOr("", () => {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(path, "utf8") : "";
  });
}
