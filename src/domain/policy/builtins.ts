/**
 * What the shell itself does, which no list needs to name. Left out because they run what nobody has seen or change what a name
 * means: alias, bind, compgen, complete, enable, fc, hash.
 */
export const BUILTINS: ReadonlySet<string> = new Set(
  (
    ": . [ [[ bg break builtin caller cd command continue declare dirs disown echo eval exec exit export false fg " +
    "getopts help jobs let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt " +
    "source test times trap true type typeset ulimit umask unalias unset wait"
  ).split(" "),
);

/** Builtins whose arguments are assignments. */
export const DECLARING: ReadonlySet<string> = new Set(["export", "declare", "typeset", "local", "readonly"]);

/** Programs that read a shell script. */
export const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "ash", "ksh", "zsh"]);

/** Folders whose programs are called by their plain name as well. */
const PROGRAM_FOLDERS =
  /^(?:\/usr(?:\/local)?)?\/s?bin\/|^(?:\.\/|\/workspace\/project\/)?(?:node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\//;

/** `/usr/bin/rm` is `rm`, `node_modules/.bin/jest` is `jest`; any other path stays what it is. */
export function programName(word: string): string {
  return word.replace(/\/{2,}/g, "/").replace(PROGRAM_FOLDERS, "");
}

/** The last component, for what is forbidden wherever it lies. */
export function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}
