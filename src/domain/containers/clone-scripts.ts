import { CLEAR_TOOL_FOLDERS } from "../policy/protection.ts";

/**
 * Scripts for the shell of a task's environment, in the project's folder. They use an index of their own: what is staged stays
 * staged. Folders that tools fill are not even looked at, unless the project tracks some of that name.
 */

/** Prints the tree of everything in the project that git does not ignore, on the cloned commit. */
export function treeScript(index: string, base: string): string {
  return `${useIndex(index)}${useSeparateGit(base)}${writeExactTree}; code=$?; ${REMOVE_INDEX}; exit $code`;
}

/**
 * Prints the tree of the change: the cloned commit with the changes since `start`. Files left by the
 * installation of dependencies are part of it only if they were changed again.
 */
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
 * A git directory made on the spot, with the project's objects alone: the project's own, and the user's settings, can be
 * written by its code. A filter there would change what is committed, and an entry of its index would hide a change.
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

/**
 * Prints the tree of everything in the project that git does not ignore, and after a NUL byte what differs in it from `start`, as
 * `git diff-tree -z` says it; then what each of the other commands prints, regardless of its exit code.
 */
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

/**
 * Makes the files that git does not ignore those of `tree`; a file that is right already keeps its time. With `folders`, standard
 * input names folders that are to be there, too, each with a NUL byte: git knows no empty one.
 */
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

/**
 * Before a script: git's objects are kept in this folder, and none is written into the project, which need not be a repository.
 */
export function keepObjectsIn(folder: string): string {
  const init = `[ -d ${folder}/own ] || git init --quiet --template= ${folder}/own 2>/dev/null; `;
  const use = `export OWN_OBJECTS=${folder}/own/.git/objects GIT_DIR=${folder}/own/.git GIT_WORK_TREE="$PWD"; `;
  return `mkdir -p ${folder}; ${init}${use}export GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/.git/objects"; `;
}

/** Every file of a tree with its size, as `git ls-tree -z -l` says it. */
export function listCommand(tree: string): string {
  return `git ls-tree -r -z -l --full-tree ${tree}`;
}
