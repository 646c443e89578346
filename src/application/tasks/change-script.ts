import { TOOL_FOLDERS } from "../../domain/forges/left-out.ts";

/**
 * Scripts for the shell of a task's environment, in the project's folder. They use an index of their own: what is staged stays
 * staged. Folders that tools fill are not even looked at, unless the project tracks some of that name.
 */

/** Prints the tree of everything in the project that git does not ignore. */
export function treeScript(index: string): string {
  return `${own(index)}${writeTree}; code=$?; ${gone}; exit $code`;
}

/**
 * Prints the tree of the change: the cloned commit with what changed since `start`. What the installation of dependencies
 * left behind is part of it only where it was changed again.
 */
export function changeScript(index: string, { base, start }: { base: string; start: string }): string {
  const raw = `git diff-tree -r --no-abbrev --no-renames ${start} "$after"`;
  const entries = `sed 's/^:[0-7]* \\([0-7]*\\) [0-9a-f]* \\([0-9a-f]*\\) [A-Z]/\\1 \\2/'`;
  const put = `${raw} > "$GIT_INDEX_FILE.raw" && git read-tree ${base} && ${entries} < "$GIT_INDEX_FILE.raw" | git update-index --index-info && git write-tree`;
  return `${own(index)}after=$(${writeTree}) && ${put}; code=$?; ${gone}; exit $code`;
}

/** Brings a patch of the cloned commit, from standard input, into the folder, over what the installation left there. */
export function bringInScript(index: string, base: string): string {
  const names = (filter: string) =>
    `git diff-tree -r -z --no-renames --name-only --diff-filter=${filter} ${base} "$after"`;
  const apply = `git read-tree ${base} && git apply --cached --binary --whitespace=nowarn - && after=$(git write-tree)`;
  const write = `${names("D")} | xargs -0 rm -f -- && ${names("AMT")} | git checkout-index -f -z --stdin`;
  return `${own(index)}${apply} && ${write}; code=$?; ${gone}; exit $code`;
}

/**
 * Makes the files those of `tree`, and prints the tree that they were. What came into being since the other tree and git does
 * not ignore goes; what tools made stays. It waits a second: tools that compile (Python) know a file by its size and second.
 */
export function switchScript(index: string, tree: string): string {
  const keep = TOOL_FOLDERS.map((name) => `-e ${name}`).join(" ");
  const turn = `git read-tree --reset -u ${tree} && git clean -fdq ${keep} && echo "$was"`;
  return `${own(index)}was=$(${writeTree}) && sleep 1 && ${turn}; code=$?; ${gone}; exit $code`;
}

export function diffCommand(base: string, tree: string): string {
  return `git diff --binary --full-index --no-ext-diff --no-textconv --no-color --no-renames ${base} ${tree}`;
}

function own(index: string): string {
  return `export GIT_INDEX_FILE=${index}; `;
}

const gone = 'rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.raw"';

const names = TOOL_FOLDERS.join(" ");
const pattern = TOOL_FOLDERS.map((name) => name.replace(".", "\\.")).join("|");

// With its time, by which git knows what may have changed in the same second.
const writeTree = `{ cp -p .git/index "$GIT_INDEX_FILE" 2>/dev/null
tracked=" $(git ls-files | grep -oE '(^|/)(${pattern})/' | tr -d / | sort -u | tr '\\n' ' ') "
set -- .
for name in ${names}; do
  case "$tracked" in *" $name "*) ;; *) set -- "$@" ":(exclude,glob)**/$name/**" ;; esac
done
git add --update && git add --all -- "$@" && git write-tree; }`;
