import { FORGE_KINDS, type ForgeKind, forgeFacts } from "../config/configured-kinds.ts";
import { gitVariables } from "../policy/git-files.ts";

/** The source of a project, without any credential. */
export type RepositorySource =
  | {
      readonly kind: "remote";
      /** For git; never with a user or a password. */
      readonly url: string;
      readonly protocol: "https" | "http" | "ssh" | "git";
      /** Lower case, with the port where one is given. */
      readonly host: string;
      /** The text before the `@` of a web address. */
      readonly embedded?: Credential;
    }
  | { readonly kind: "local"; readonly path: string };

export interface Credential {
  readonly username: string;
  readonly password: string;
}

export type ParsedSource =
  | { readonly ok: true; readonly source: RepositorySource }
  | { readonly ok: false; readonly reason: "empty" | "option" | "protocol" | "malformed" };

/** `git@host:path`, but neither `C:\path` nor `./a:b`. */
const SCP_LIKE =
  /^(?:([A-Za-z0-9._-]+)@(?=[A-Za-z0-9])|(?=[A-Za-z0-9.-]{2}))([A-Za-z0-9.-]+):(?!\/\/)([^\\].*)$/;

/** Reads what a person calls a repository: an address, git's short form for ssh, or a folder. */
export function parseRepository(given: string): ParsedSource {
  const text = given.trim();
  if (text === "") return { ok: false, reason: "empty" };
  // Git would take it for an option.
  if (text.startsWith("-")) return { ok: false, reason: "option" };
  if (/[\0\r\n]/.test(text)) return { ok: false, reason: "malformed" };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined) return parseAddress(text, scheme);
  // `ext::sh -c …` and the like run programs.
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text)) return { ok: false, reason: "protocol" };
  const scp = /^[./]/.test(text) ? null : SCP_LIKE.exec(text);
  if (scp !== null) {
    const [, user, host = "", path = ""] = scp;
    const url = `${user === undefined ? "" : `${user}@`}${host}:${path}`;
    return { ok: true, source: { kind: "remote", url, protocol: "ssh", host: host.toLowerCase() } };
  }
  return { ok: true, source: { kind: "local", path: text } };
}

function parseAddress(text: string, scheme: string): ParsedSource {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { ok: false, reason: "malformed" };
  }
  switch (scheme) {
    case "file":
      return { ok: true, source: { kind: "local", path: decodeURIComponent(url.pathname) } };
    case "https":
    case "http": {
      if (url.hostname === "") return { ok: false, reason: "malformed" };
      const embedded = embeddedCredential(url);
      url.username = "";
      url.password = "";
      url.hash = "";
      const source = {
        kind: "remote",
        url: url.href,
        protocol: scheme,
        host: url.host.toLowerCase(),
      } as const;
      return { ok: true, source: embedded === null ? source : { ...source, embedded } };
    }
    case "ssh":
    case "git":
      if (url.host === "") return { ok: false, reason: "malformed" };
      url.password = "";
      return {
        ok: true,
        source: { kind: "remote", url: url.href, protocol: scheme, host: url.host.toLowerCase() },
      };
    default:
      return { ok: false, reason: "protocol" };
  }
}

/** A token alone is written as the user's name. */
function embeddedCredential(url: URL): Credential | null {
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  if (username === "" && password === "") return null;
  return password === "" ? { username: "x-access-token", password: username } : { username, password };
}

export interface ForgeAccess {
  readonly token: string | null;
  /** Of a self-hosted one. */
  readonly baseUrl: string | null;
}

/**
 * The credential for a repository: what its address brought, else the token of the forge that hosts it. A token is sent
 * to its own forge's host only, and over plain http only where the forge itself is configured so.
 */
export function credentialFor(
  source: RepositorySource,
  forges: Readonly<Record<ForgeKind, ForgeAccess>>,
): Credential | null {
  if (source.kind !== "remote" || (source.protocol !== "https" && source.protocol !== "http")) return null;
  if (source.embedded !== undefined) return source.embedded;
  for (const forge of FORGE_KINDS) {
    const { token, baseUrl } = forges[forge];
    const { site, gitUser } = forgeFacts(forge);
    if (token !== null && isOnForge(source, baseUrl, site)) return { username: gitUser, password: token };
  }
  return null;
}

function isOnForge(
  { host, protocol }: Extract<RepositorySource, { kind: "remote" }>,
  baseUrl: string | null,
  usual: string,
): boolean {
  try {
    const forge = new URL(baseUrl ?? usual);
    // GitHub's programming interface has a host of its own; its repositories are not there.
    const forgeHost = forge.host === "api.github.com" ? "github.com" : forge.host;
    return forgeHost === host && (protocol === "https" || forge.protocol === "http:");
  } catch {
    return false;
  }
}

/** Which part of a repository's history is wanted. */
export interface CloneRange {
  /** A branch, a tag, or a full name such as `refs/pull/5/head`. Absent: the default branch. */
  readonly ref?: string | undefined;
  /** The target branch of a pull or merge request; also fetched, so that the two can be compared. */
  readonly target?: string | undefined;
  /** Commits of a shallow clone; null is the whole history. */
  readonly depth: number | null;
}

export const PROJECT_FOLDER = "/workspace/project";
/** A file system in memory that every container has; nothing of it is ever on a disk. */
const SECRET_FILE = "/dev/shm/picoclaw-credential";

export type RemoteSource = Extract<RepositorySource, { kind: "remote" }>;

/** Git's settings for one call, by its environment: none of them is left in the repository. */
export function gitEnvironment(
  remote: RemoteSource | null,
  options: { readonly credential: boolean; readonly insecure: boolean },
): Record<string, string> {
  const settings: [string, string][] = [
    // A stranger's repository runs nothing while it is cloned.
    ["core.hooksPath", "/dev/null"],
    ["core.fsmonitor", "false"],
    ["protocol.ext.allow", "never"],
    ["credential.helper", ""],
    ["gc.auto", "0"],
  ];
  if (remote !== null) {
    const origin = `${remote.protocol}://${remote.host}`;
    // Bound to the host: a redirection to another one does not get it.
    if (options.credential)
      settings.push([`credential.${origin}.helper`, `!f() { test "$1" = get && cat ${SECRET_FILE}; }; f`]);
    if (options.insecure) settings.push([`http.${origin}/.sslVerify`, "false"]);
  }
  return {
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_LFS_SKIP_SMUDGE: "1",
    LC_ALL: "C",
    ...gitVariables(settings),
  };
}

/** Puts the credential where git's helper finds it; it is passed by standard input, so no process list shows it. */
export const KEEP_SECRET = `umask 077 && rm -f ${SECRET_FILE} && cat > ${SECRET_FILE}`;
export const DROP_SECRET = `rm -f ${SECRET_FILE}`;

export function secretText({ username, password }: Credential): string {
  return `username=${username}\npassword=${password}\n`;
}

/** Fetches; the files come later, when the credential is gone. */
export function fetchCommand(remote: RemoteSource, { ref, target, depth }: CloneRange): readonly string[] {
  const how = depth === null ? [] : [`--depth=${depth}`];
  const full = ref?.startsWith("refs/") ?? false;
  const clone = [
    ...["git", "clone", "--quiet", "--progress", "--no-checkout", ...how],
    ...(depth === null ? [] : ["--single-branch"]),
    ...(ref !== undefined && !full ? ["--branch", ref] : []),
    ...["--", remote.url, PROJECT_FOLDER],
  ];
  const fetch = (spec: string) => gitInProject("fetch", "--quiet", "--progress", ...how, "origin", spec);
  return [
    quoteWords(clone),
    ...(ref !== undefined && full ? [fetch(`+${ref}:refs/picoclaw/source`)] : []),
    ...(target === undefined ? [] : [fetch(`+refs/heads/${target}:refs/remotes/origin/${target}`)]),
  ];
}

/** More history, until both sides have a common commit; a shallow pair often has none. */
export function deepenCommand(by: number | null): string {
  const how = by === null ? "--unshallow" : `--deepen=${by}`;
  return gitInProject("fetch", "--quiet", how, "origin");
}

/** Lays the files out. */
export function checkoutCommand({ ref }: CloneRange): string {
  if (ref?.startsWith("refs/")) {
    const name = ref.replace(/^refs\/(heads\/)?/, "").replace(/[^A-Za-z0-9._/-]/g, "-");
    return gitInProject("checkout", "--quiet", "-B", name, "refs/picoclaw/source");
  }
  return gitInProject("reset", "--quiet", "--hard", "HEAD");
}

/** A call of git in the project's folder, for a shell. */
export function gitInProject(...words: readonly string[]): string {
  return quoteWords(["git", "-C", PROJECT_FOLDER, ...words]);
}

/** Each word quoted for a shell. */
export function quoteWords(argv: readonly string[]): string {
  return argv
    .map((word) => (/^[A-Za-z0-9_./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** A branch's name as git allows it, and never one that git would take for an option. */
export function isRefName(name: string): boolean {
  return (
    /^[^\0-\x20\x7f~^:?*[\\]+$/.test(name) && !/^[-/]|\/$|\.$|\.\.|@\{|\/\/|\.lock(\/|$)|(^|\/)\./.test(name)
  );
}

export function withoutCredential(address: string): string {
  const parsed = parseRepository(address);
  return parsed.ok && parsed.source.kind === "remote" ? parsed.source.url : address;
}
