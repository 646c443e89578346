/** Names that mean something in a git directory; every other path is passed over without a look. */
const MEANS_SOMETHING =
  /(?:^|\/)(?:hooks(?:\/.*)?|(?:remotes|branches)(?:\/.*)?|(?:rebase-merge\/git-rebase-todo|sequencer\/todo)|(?:config|config\.worktree|commondir|HEAD|objects|refs|index|sharedindex\.[0-9a-f]+))$/i;

export function mayMatterToGit(path: string): boolean {
  return MEANS_SOMETHING.test(path);
}

/** One setting of a git configuration file; section and key in lower case, subsection as written. */
export interface GitSetting {
  readonly name: string;
  readonly value: string;
}

/** A setting and the range of its text: from its key up to the end of its last line. */
interface PlacedSetting extends GitSetting {
  readonly start: number;
  readonly end: number;
}

const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)/y;
const BLANKS = /[ \t\r\n]+/y;
const LINE = /[^\n]*/y;

/** Reads git's configuration syntax: sections, subsections, continuation lines, quotes, comments. */
export function readGitConfig(text: string) {
  const settings: PlacedSetting[] = [];
  let section = "";
  /** Part of it is not a configuration as git reads it, so the judge cannot know how git would read it. */
  let isOdd = false;
  let at = text.startsWith("\ufeff") ? 1 : text.startsWith("\u00ef\u00bb\u00bf") ? 3 : 0;
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    at += match(BLANKS)?.[0].length ?? 0;
    if (at >= text.length) break;
    const header = match(HEADER);
    if (header !== null) {
      const subsection = header[2] === undefined ? "" : `.${header[2].replace(/\\(.)/g, "$1")}`;
      section = `${(header[1] as string).toLowerCase()}${subsection}`;
      at += header[0].length;
      continue;
    }
    const isComment = text[at] === "#" || text[at] === ";";
    const key = isComment ? null : match(KEY);
    if (key === null || section === "") {
      isOdd ||= !isComment;
      at += match(LINE)?.[0].length ?? 1;
      continue;
    }
    const { value, end, isBroken } = readValue(text, at + key[0].length);
    isOdd ||= isBroken || (key[2] === "" && value !== "");
    const name = `${section}.${(key[1] as string).toLowerCase()}`;
    settings.push({ name, value: key[2] === "=" ? value : "true", start: at, end });
    at = end;
  }
  return { settings, isOdd };
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\\": "\\", '"': '"' };

/** Blanks around a value go, those in quotes stay. A quote that is not closed ends with its line. */
function readValue(text: string, start: number): { value: string; end: number; isBroken: boolean } {
  let value = "";
  let kept = 0;
  let quoted = false;
  let isBroken = false;
  let i = start;
  for (; i < text.length; i++) {
    const char = text[i] as string;
    if (char === "\n") break;
    if (char === "\\") {
      i += text[i + 1] === "\r" && text[i + 2] === "\n" ? 2 : 1;
      const next = text[i] ?? "";
      if (next === "\n") continue;
      isBroken ||= ESCAPES[next] === undefined;
      value += ESCAPES[next] ?? next;
      kept = value.length;
    } else if (char === '"') quoted = !quoted;
    else if ((char === "#" || char === ";") && !quoted) {
      const line = text.indexOf("\n", i);
      i = line < 0 ? text.length : line;
      break;
    } else if (quoted || !/[ \t\r]/.test(char)) {
      value += char;
      kept = value.length;
    } else if (value !== "") value += char;
  }
  return { value: value.slice(0, kept), end: Math.min(i, text.length), isBroken: isBroken || quoted };
}

/** Settings that name no program, no file and no address. In names `*` is any subsection. */
const HARMLESS = [
  /^(user|author|committer)\.(name|email|useconfigonly)$/,
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|safecrlf|eol|quotepath|abbrev|compression|loosecompression|bigfilethreshold|packedgitlimit|packedgitwindowsize|deltabasecachelimit|trustctime|checkstat|untrackedcache|preloadindex|fscache|commentchar|commentstring|whitespace|sparsecheckout|sparsecheckoutcone|longpaths|hidedotfiles|multipackindex|commitgraph|splitindex|fsync|fsyncmethod|maxtreedepth|notesref|warnambiguousrefs|checkroundtripencoding)$/,
  /^gc\.(?!recentobjectshook$)[a-z0-9.-]+$/,
  /^(advice|color|column|i18n|index|log|maintenance|notes|pack|rerere|stash|status|versionsort)\.[a-z0-9.-]+$/,
  /^(init\.defaultbranch|clone\.defaultremotename|checkout\.(defaultremote|guess|workers)|feature\.(manyfiles|experimental))$/,
  /^(pull\.(rebase|ff|octopus)|push\.(default|autosetupremote|followtags|recursesubmodules)|fetch\.(prune|prunetags|parallel|unpacklimit|writecommitgraph|recursesubmodules|fsckobjects))$/,
  /^(merge\.(ff|conflictstyle|renames|renamelimit|stat|directoryrenames|log|autostash)|rebase\.(autosquash|autostash|updaterefs|stat|missingcommitscheck|forkpoint|backend))$/,
  /^(diff\.(algorithm|renames|renamelimit|colormoved|colormovedws|mnemonicprefix|noprefix|context|interhunkcontext|indentheuristic|statgraphwidth|submodule|ignoresubmodules|wserrorhighlight|suppressblankempty|dirstat|relative)|blame\.[a-z]+|apply\.(whitespace|ignorewhitespace)|am\.(threeway|keepcr))$/,
  /^(commit\.(verbose|cleanup|gpgsign|status)|tag\.(sort|gpgsign)|branch\.(sort|autosetupmerge|autosetuprebase)|branch\..*\.(rebase|description|vscode-merge-base|gh-merge-base))$/,
  /^(transfer\.(fsckobjects|unpacklimit|hiderefs)|receive\.(fsckobjects|denycurrentbranch|denynonfastforwards|denydeletes|unpacklimit)|http\.postbuffer|lfs\.repositoryformatversion)$/,
  /^extensions\.(objectformat|compatobjectformat|refstorage|partialclone|preciousobjects|noop|noop-v1|relativeworktrees|worktreeconfig)$/,
  /^remote\..*\.(fetch|push|tagopt|prune|prunetags|mirror|promisor|partialclonefilter|skipdefaultupdate|skipfetchall|followremotehead|gh-resolved)$/,
  /^(remote\.pushdefault|submodule\.(active|recurse|fetchjobs|propagatebranches)|submodule\..*\.(active|branch|ignore|shallow|fetchrecursesubmodules))$/,
];

/** Names of remotes and branches: no URL, no option, no transport. */
const PLAIN_NAME = /^(?!-)[\w./@+#-]+$/;

/** Ways to a repository that run nothing but git's own programs; `ext::` and its like name a program. */
const PLAIN_URL =
  /^(?!-)(?:(?:https?|ssh|git|file|git\+ssh|ssh\+git|ftps?):\/\/|(?![\w+.-]*::|[\w+.-]+:\/\/))[^\n\0]*$/i;

/** Commands of git that run nothing which an argument names. */
const PLAIN_COMMAND =
  /^(?:status|log|diff|show|branch|checkout|switch|restore|commit|add|stash|tag|shortlog|blame|reflog|rev-parse|describe|ls-files|reset)$/;

/** Options of an alias that neither write nor start anything. An allow-list: git takes options by any unique beginning. */
const PLAIN_OPTION =
  /^--(?:abbrev|abbrev-commit|all|all-match|always|amend|ancestry-path|author|author-date-order|auto|before|after|boundary|branch|branches|cached|cherry|cherry-pick|color|color-words|column|committer|contains|count|create|date|date-order|decorate|delete|deleted|dirstat|dirty|detach|discard-changes|exclude-standard|exit-code|find-renames|first-parent|follow|force|format|full-history|git-dir|graph|grep|hard|histogram|ignore-all-space|ignore-blank-lines|ignore-case|ignore-space-at-eol|ignore-space-change|ignored|include-untracked|intent-to-add|is-inside-work-tree|keep|keep-index|left-right|list|long|match|max-count|merge|merged|merges|minimal|mixed|modified|move|name-only|name-status|name-rev|no-abbrev|no-color|no-decorate|no-edit|no-ext-diff|no-merged|no-merges|no-patch|no-renames|no-textconv|no-track|no-verify|not|numbered|numstat|oneline|others|ours|patch|patch-with-stat|patience|porcelain|pretty|quiet|raw|relative-date|remotes|reset-author|reverse|root|set-upstream-to|short|shortstat|show-current|show-signature|show-stash|show-toplevel|signoff|simplify-by-decoration|since|skip|soft|sort|source|staged|stat|summary|tags|theirs|topo-order|track|unified|unmerged|untracked|untracked-files|until|update|verbose|verify|word-diff|word-diff-regex|worktree|zero-commit)(?:=.*)?$/s;

/** An alias as git reads it: words, without quotes; null where a quote is not closed. */
function splitAlias(value: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (const char of value) {
    if (quote === "" && /\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === quote) quote = "";
    else if (quote === "" && /['"]/.test(char)) {
      quote = char;
      word ??= "";
    } else word = (word ?? "") + char;
  }
  if (quote !== "") return null;
  return word === null ? words : [...words, word];
}

/** Nothing but letters that mean nothing to a shell, a plain command of git, and options that only show or choose. */
function isPlainAlias(value: string): boolean {
  if (!/^[\w\s./@^~:=%,+'"<>()#*|-]+$/.test(value)) return false;
  const [command = "", ...words] = splitAlias(value) ?? [];
  return (
    PLAIN_COMMAND.test(command) &&
    words.every((word) => word === "--" || !word.startsWith("--") || PLAIN_OPTION.test(word))
  );
}

/** Whether a job may set this: an allow-list, since git's ways to run a program cannot be enumerated. */
export function isHarmlessSetting({ name, value }: GitSetting): boolean {
  if (HARMLESS.some((known) => known.test(name))) return true;
  if (name === "core.fsmonitor") return value === "false" || value === "";
  // Only the user may read and write the files that git makes; anything more gives power to others.
  if (name === "core.sharedrepository") return /^(?:false|umask|0|no|off|0600)$/i.test(value);
  if (name.startsWith("alias.")) return isPlainAlias(value.trim());
  if (/^remote\..*\.(url|pushurl)$/s.test(name) || /^submodule\..*\.url$/s.test(name))
    return PLAIN_URL.test(value);
  if (/^branch\..*\.(remote|pushremote|merge)$/s.test(name)) return PLAIN_NAME.test(value);
  return /^submodule\..*\.update$/s.test(name) && /^(checkout|rebase|merge|none)$/.test(value);
}

/** The settings that a job may not make, and the file without them (null if inseparable); null if all may stay, as those of `before` do. */
export function revertSettings(
  before: string,
  after: string,
  isAllowed: (setting: GitSetting) => boolean = isHarmlessSetting,
): { readonly names: readonly string[]; readonly text: string | null } | null {
  const was = readGitConfig(before);
  const is = readGitConfig(after);
  const key = ({ name, value }: GitSetting) => `${name}\0${value}`;
  const known = new Set(was.settings.map(key));
  const bad = is.settings.filter((setting) => !known.has(key(setting)) && !isAllowed(setting));
  if (bad.length === 0 && (!is.isOdd || before === after)) return null;
  const names = [...new Set(bad.map(({ name }) => name))];
  if (is.isOdd) return { names: names.length > 0 ? names : ["?"], text: null };
  const present = new Set(is.settings.map(key));
  const lost = (name: string) => was.settings.filter((one) => one.name === name && !present.has(key(one)));
  // A file that also lost existing settings did not only gain some: its earlier content is better than the
  // rest.
  const badNames = new Set(names);
  if (was.settings.some((one) => !present.has(key(one)) && !badNames.has(one.name)))
    return { names, text: null };
  const text = withoutSettings(after, bad, lost);
  const left = readGitConfig(text);
  const isClean = !left.isOdd && left.settings.every((one) => known.has(key(one)) || isAllowed(one));
  if (!isClean) return { names, text: null };
  const isBefore = left.settings.map(key).join("\n") === was.settings.map(key).join("\n");
  return { names, text: isBefore ? before : text };
}

/** Each name's former values are restored at the place of its first new one. */
function withoutSettings(
  text: string,
  bad: readonly PlacedSetting[],
  lost: (name: string) => readonly PlacedSetting[],
): string {
  const seen = new Set<string>();
  let out = "";
  let at = 0;
  for (const { name, start, end } of bad) {
    const back = seen.has(name) ? [] : lost(name);
    seen.add(name);
    const key = name.slice(name.lastIndexOf(".") + 1);
    const lines = back.map(({ value }) => `${key} = ${quoteGitValue(value)}`);
    const lineStart = text.lastIndexOf("\n", start - 1) + 1;
    const hasLine = lines.length === 0 && /^[ \t]*$/.test(text.slice(lineStart, start));
    out += text.slice(at, hasLine ? Math.max(at, lineStart) : start) + lines.join("\n\t");
    at = hasLine ? end + 1 : end;
  }
  return out + text.slice(at);
}

function quoteGitValue(value: string): string {
  const escaped = value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return `"${escaped.replaceAll("\b", "\\b")}"`;
}

/** Settings for git as variables of its environment: they win over every file. */
export function gitVariables(settings: readonly (readonly [string, string])[]): Record<string, string> {
  const named = settings.flatMap(([name, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(named) };
}
