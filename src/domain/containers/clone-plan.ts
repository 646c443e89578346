import { FORGE_KINDS, type ForgeKind, forgeFacts } from "../config/configured-kinds.ts";
import { attemptOr } from "../platform/error-text.ts";
import { quoteWords } from "../platform/paths.ts";
import { gitVariables } from "../policy/git-files.ts";
import { CLEAR_TOOL_FOLDERS } from "../policy/protection.ts";

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

/** The credential of the address, else the token of the forge that hosts it, for that host only; over http only if it is configured so. */
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
  return attemptOr(false, () => {
    const forge = new URL(baseUrl ?? usual);
    // GitHub's programming interface has a host of its own; its repositories are not there.
    const forgeHost = forge.host === "api.github.com" ? "github.com" : forge.host;
    return forgeHost === host && (protocol === "https" || forge.protocol === "http:");
  });
}

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

/** Git's calls that clone into a folder; the files come later. `how`: further options of each. */
export function cloneCalls(
  url: string,
  folder: string,
  { ref, target, depth }: CloneRange,
  ...how: readonly string[]
): string[][] {
  const shallow = depth === null ? [] : [`--depth=${depth}`];
  const full = ref?.startsWith("refs/") ?? false;
  const fetch = (spec: string) => ["-C", folder, "fetch", "--quiet", ...how, ...shallow, "origin", spec];
  return [
    [
      ...["clone", "--quiet", ...how, "--no-checkout", ...shallow],
      ...(depth === null ? [] : ["--single-branch"]),
      ...(ref !== undefined && !full ? ["--branch", ref] : []),
      ...["--", url, folder],
    ],
    ...(ref !== undefined && full ? [fetch(`+${ref}:refs/picoclaw/source`)] : []),
    ...(target === undefined ? [] : [fetch(`+refs/heads/${target}:refs/remotes/origin/${target}`)]),
  ];
}

/** More history, until both sides have a common commit; a shallow pair often has none. */
export function deepenCommand(by: number | null): string {
  const how = by === null ? "--unshallow" : `--deepen=${by}`;
  return gitInProject("fetch", "--quiet", how, "origin");
}

export function checkoutCommand({ ref }: CloneRange): string {
  if (ref?.startsWith("refs/")) {
    const name = ref.replace(/^refs\/(heads\/)?/, "").replace(/[^A-Za-z0-9._/-]/g, "-");
    return gitInProject("checkout", "--quiet", "-B", name, "refs/picoclaw/source");
  }
  return gitInProject("reset", "--quiet", "--hard", "HEAD");
}

export function gitInProject(...words: readonly string[]): string {
  return quoteWords(["git", "-C", PROJECT_FOLDER, ...words]);
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

/** Scripts for the shell of a task's environment, with an index of their own. Folders that tools fill are looked at only if tracked. */

/** Prints the tree of everything in the project that git does not ignore, on the cloned commit. */
export function treeScript(index: string, base: string): string {
  return `${useIndex(index)}${useSeparateGit(base)}${writeExactTree}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Prints the tree of the change since `start` on the cloned commit. Files of the installation count only if they were changed again. */
export function changeScript(
  index: string,
  { base, start, exact }: { readonly base: string; readonly start: string; readonly exact: boolean },
): string {
  const raw = `git diff-tree -r --no-abbrev --no-renames ${start} "$after"`;
  const entries = `sed 's/^:[0-7]* \\([0-7]*\\) [0-9a-f]* \\([0-9a-f]*\\) [A-Z]/\\1 \\2/'`;
  const put = `${raw} > "$GIT_INDEX_FILE.raw" && git read-tree ${base} && ${entries} < "$GIT_INDEX_FILE.raw" | git update-index --index-info && git write-tree`;
  // If the installation left nothing, only the change is there.
  const tell = `if [ "$(git rev-parse --verify --quiet '${base}^{tree}')" = ${start} ]; then echo "$after"; else ${put}; fi`;
  const [set, write] = exact ? [useSeparateGit(base), writeExactTree] : ["", writeTree];
  return `${useIndex(index)}${set}after=$(${write}) && { ${tell}; }; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Brings a patch of the cloned commit, from standard input, into the folder, over what the installation left there. */
export function bringInScript(index: string, base: string): string {
  const names = (filter: string) =>
    `git diff-tree -r -z --no-renames --name-only --diff-filter=${filter} ${base} "$after"`;
  const apply = `git read-tree ${base} && git apply --cached --binary --whitespace=nowarn - && after=$(git write-tree)`;
  const write = `${names("D")} | xargs -0 rm -f -- && ${names("AMT")} | git checkout-index -f -z --stdin`;
  return `${useIndex(index)}${apply} && ${write}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

export function diffCommand(base: string, tree: string): string {
  return `git diff --binary --full-index --no-ext-diff --no-textconv --no-color --no-renames ${base} ${tree}`;
}

function useIndex(index: string): string {
  return `export GIT_INDEX_FILE=${index}; `;
}

/**
 * A git directory made on the spot, with the project's objects alone: the project's own, and the user's settings, can be written
 * by its code. A filter there would change what is committed, and an entry of its index would hide a change.
 */
function useSeparateGit(base: string): string {
  const made =
    'unset GIT_DIR GIT_WORK_TREE; d="$GIT_INDEX_FILE.d"; { [ ! -e "$d" ] && [ ! -L "$d" ]; } || rm -rf "$d"; export HOME="$d/home" XDG_CONFIG_HOME="$d/home"';
  // All that git asks of its directory, at a third of what `git init` costs.
  const init =
    'mkdir -p "$d/home" "$d/own/.git/objects" "$d/own/.git/refs" && echo "ref: refs/heads/main" > "$d/own/.git/HEAD"';
  const objects = `"\${OWN_OBJECTS:-$PWD/.git/objects}" GIT_ALTERNATE_OBJECT_DIRECTORIES="\${OWN_OBJECTS:+$PWD/.git/objects}"`;
  const use = `export GIT_DIR="$d/own/.git" GIT_WORK_TREE="$PWD" GIT_OBJECT_DIRECTORY=${objects} GIT_CONFIG_GLOBAL=/dev/null`;
  return `${made}; ${init} && ${use} && git read-tree ${base} || exit 1; `;
}

const REMOVE_INDEX = 'rm -rf "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.raw" "$GIT_INDEX_FILE.d"';

const TOOL_FOLDER_NAMES = CLEAR_TOOL_FOLDERS.join(" ");
const TOOL_FOLDER_PATTERN = CLEAR_TOOL_FOLDERS.map((name) => name.replace(".", "\\.")).join("|");

/** Git's message about a nested repository without a commit: there is nothing that could be committed for it. */
const UNBORN = "does not have a commit checked out";

/** The folders that are no part of a change for that reason, from what a script printed as errors. */
export function unbornRepositories(stderr: string): string[] {
  const found = [...stderr.matchAll(new RegExp(`^error: '(.*?)/?' ${UNBORN}$`, "gm"))];
  return [...new Set(found.map(([, path = ""]) => path))];
}

// A project that tracks nothing in such a folder needs neither their names nor an update of what they hide.
const addAll = `tracked=
if git ls-files | grep -qE '(^|[/"])(${TOOL_FOLDER_PATTERN})/'; then
  tracked=" $(git ls-files | grep -oE '(^|/)(${TOOL_FOLDER_PATTERN})/' | tr -d / | sort -u | tr '\\n' ' ') "
fi
set -- .
for name in ${TOOL_FOLDER_NAMES}; do
  case "$tracked" in *" $name "*) ;; *) set -- "$@" ":(exclude,glob)**/$name/**" ;; esac
done
said=
add_rest() {
  said=$(LC_ALL=C git add --all --ignore-errors -- "$@" 2>&1) && return
  printf '%s\\n' "$said" | grep -q "${UNBORN}$" && ! printf '%s\\n' "$said" | grep -qv "${UNBORN}$"
}
{ [ -z "$tracked" ] || git add --update; } && { add_rest "$@" || { printf '%s\\n' "$said" >&2; false; }; } && printf '%s\\n' "$said" >&2 && git write-tree; }`;

// With its time, by which git knows what may have changed in the same second.
const writeTree = `{ cp -p .git/index "$GIT_INDEX_FILE" 2>/dev/null
${addAll}`;

// Of the project's own index only the names count: an ignored file that was added belongs to the change. Everything is read again.
const writeExactTree = `{ GIT_DIR="$PWD/.git" GIT_INDEX_FILE="$PWD/.git/index" git ls-files -z | git update-index -z --add --remove --stdin
${addAll}`;

/** Only folders of the image, which the project's code cannot write: an installation may put a `git` of its own into the user's. */
export const OWN_PROGRAMS =
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH; ";

/** Between the outputs of several commands of one script: no path and no program's name holds it. */
export const NEXT_PART = "\0\0picoclaw\0\0";

/** Prints the tree of all that git does not ignore, a NUL byte, its `git diff-tree -z` from `start`; then what the others print. */
export function standingScript(
  index: string,
  { base, start }: { readonly base: string; readonly start: string },
  others: readonly string[] = [],
): string {
  const print = `printf '%s\\0' "$now" && git diff-tree -r -z --no-abbrev --no-renames ${start} "$now"`;
  const more = others.map((command) => `printf '\\0\\0picoclaw\\0\\0'; ${command}; `).join("");
  return `own_home="$HOME"; ${useIndex(index)}${useSeparateGit(base)}now=$(${writeExactTree}) && ${print}; code=$?; ${REMOVE_INDEX}; HOME="$own_home"; ${more}exit $code`;
}

/** Takes away the folders that became empty, from the names of removed files. */
const REMOVE_FOLDERS = `sh -c 'for f; do d=\${f%/*}; while [ "$d" != "$f" ] && rmdir -- "$d" 2>/dev/null; do f=$d; d=\${f%/*}; done; done' sh`;

/** Makes the files that git does not ignore those of `tree`, and, with `folders`, empty folders that standard input names (NUL bytes). */
export function restoreScript(
  index: string,
  { base, tree, folders }: { readonly base: string; readonly tree: string; readonly folders: boolean },
): string {
  const names = (filter: string) =>
    `git diff-tree -r -z --no-renames --name-only --diff-filter=${filter} "$now" ${tree}`;
  const gone = '"$GIT_INDEX_FILE.raw"';
  const remove = `${names("D")} > ${gone} && { [ ! -s ${gone} ] || { xargs -0 rm -f -- < ${gone} && xargs -0 ${REMOVE_FOLDERS} < ${gone}; }; }`;
  const turn = `{ [ "$now" = ${tree} ] || { git read-tree ${tree} && ${remove} && ${names("AMT")} | git checkout-index -f -z --stdin; }; }`;
  const make = folders ? " && xargs -0 mkdir -p -- ." : "";
  return `${useIndex(index)}${useSeparateGit(base)}now=$(${writeExactTree} < /dev/null) && ${turn}${make}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Prints the tree with other entries, from standard input as `git update-index -z --index-info` reads them. */
export function replaceScript(index: string, tree: string): string {
  const put = `git read-tree ${tree} && git update-index -z --index-info && git write-tree`;
  return `${useIndex(index)}export GIT_OBJECT_DIRECTORY="$OWN_OBJECTS"; ${put}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/** Names the empty folders of the project, each with a NUL byte. */
export const EMPTY_FOLDERS =
  "find . -type d ( -name .git -o -name node_modules ) -prune -o -type d -empty -print0"
    .replace("(", "\\(")
    .replace(")", "\\)");

/** The name of the tree without any file, which every git knows. */
export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Before a script: git's objects are kept in this folder, none in the project, which need not be a repository. */
export function keepObjectsIn(folder: string): string {
  const init = `[ -d ${folder}/own ] || git init --quiet --template= ${folder}/own 2>/dev/null; `;
  const use = `export OWN_OBJECTS=${folder}/own/.git/objects GIT_DIR=${folder}/own/.git GIT_WORK_TREE="$PWD"; `;
  return `mkdir -p ${folder}; ${init}${use}export GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/.git/objects"; `;
}

/** Every file of a tree with its size, as `git ls-tree -z -l` says it. */
export function listCommand(tree: string): string {
  return `git ls-tree -r -z -l --full-tree ${tree}`;
}
