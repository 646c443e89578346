import type { Credential, RepositorySource } from "./clone-plan.ts";

/** Which part of a repository's history is wanted. */
export interface CloneRange {
  /** A branch, a tag, or a full name such as `refs/pull/5/head`. Absent: the default branch. */
  readonly ref?: string;
  /** The branch that a pull or merge request goes to; fetched beside, so that the two can be compared. */
  readonly target?: string;
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
  const env: Record<string, string> = {
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_LFS_SKIP_SMUDGE: "1",
    LC_ALL: "C",
    GIT_CONFIG_COUNT: String(settings.length),
  };
  settings.forEach(([key, value], at) => {
    env[`GIT_CONFIG_KEY_${at}`] = key;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  });
  return env;
}

/** Puts the credential where git's helper finds it; it comes by standard input, so no process list shows it. */
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
  const fetch = (spec: string) => [
    "git",
    "-C",
    PROJECT_FOLDER,
    "fetch",
    "--quiet",
    "--progress",
    ...how,
    "origin",
    spec,
  ];
  return [
    quoteWords(clone),
    ...(ref !== undefined && full ? [quoteWords(fetch(`+${ref}:refs/picoclaw/source`))] : []),
    ...(target === undefined
      ? []
      : [quoteWords(fetch(`+refs/heads/${target}:refs/remotes/origin/${target}`))]),
  ];
}

/** More history, until both sides have a common commit; a shallow pair often has none. */
export function deepenCommand(by: number | null): string {
  const how = by === null ? "--unshallow" : `--deepen=${by}`;
  return quoteWords(["git", "-C", PROJECT_FOLDER, "fetch", "--quiet", how, "origin"]);
}

/** Lays the files out. */
export function checkoutCommand({ ref }: CloneRange): string {
  if (ref?.startsWith("refs/")) {
    const name = ref.replace(/^refs\/(heads\/)?/, "").replace(/[^A-Za-z0-9._/-]/g, "-");
    return quoteWords([
      "git",
      "-C",
      PROJECT_FOLDER,
      "checkout",
      "--quiet",
      "-B",
      name,
      "refs/picoclaw/source",
    ]);
  }
  return quoteWords(["git", "-C", PROJECT_FOLDER, "reset", "--quiet", "--hard", "HEAD"]);
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
