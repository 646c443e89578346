import { type GitSetting, type PlacedSetting, readGitConfig } from "./git-config.ts";

/** Settings that name nothing to run, nothing to read and nowhere to go. In names `*` stands for any subsection. */
const HARMLESS = [
  /^(user|author|committer)\.(name|email|useconfigonly)$/,
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|safecrlf|eol|quotepath|abbrev|compression|loosecompression|bigfilethreshold|packedgitlimit|packedgitwindowsize|deltabasecachelimit|sharedrepository|trustctime|checkstat|untrackedcache|preloadindex|fscache|commentchar|commentstring|whitespace|sparsecheckout|sparsecheckoutcone|longpaths|hidedotfiles|multipackindex|commitgraph|splitindex|fsync|fsyncmethod|maxtreedepth|notesref|warnambiguousrefs|checkroundtripencoding)$/,
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
const PLAIN_ALIAS =
  /^(?:status|log|diff|show|branch|checkout|switch|restore|commit|add|stash|tag|shortlog|blame|reflog|rev-parse|describe|ls-files|reset)(?:\s+[\w./@^~:=%,+'"<>()#*-]+)*$/;

/** Whether a job may set this: an allow-list, since git has more ways to run a program than anybody can list. */
export function isHarmlessSetting({ name, value }: GitSetting): boolean {
  if (HARMLESS.some((known) => known.test(name))) return true;
  if (name === "core.fsmonitor") return value === "false" || value === "";
  if (name.startsWith("alias.")) return PLAIN_ALIAS.test(value.trim());
  if (/^remote\..*\.(url|pushurl)$/s.test(name) || /^submodule\..*\.url$/s.test(name))
    return PLAIN_URL.test(value);
  if (/^branch\..*\.(remote|pushremote|merge)$/s.test(name)) return PLAIN_NAME.test(value);
  return /^submodule\..*\.update$/s.test(name) && /^(checkout|rebase|merge|none)$/.test(value);
}

export interface RevertedSettings {
  /** Names of settings that may not be set, in the order of the file. */
  readonly names: readonly string[];
  /** The file without them; null where it cannot be told apart from them. */
  readonly text: string | null;
}

/**
 * What a job may not set in a configuration, and the configuration without it; null where all of it may stay. `before`
 * is what git read there until now, and what stands there already may stay.
 */
export function revertSettings(
  before: string,
  after: string,
  isAllowed: (setting: GitSetting) => boolean = isHarmlessSetting,
): RevertedSettings | null {
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
  // Who also lost settings that stood there has not just added some: what stood there is better than the rest.
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

/** Each name's former values come back where the first of its new ones stood. */
function withoutSettings(
  text: string,
  bad: readonly PlacedSetting[],
  lost: (name: string) => readonly PlacedSetting[],
): string {
  const told = new Set<string>();
  let out = "";
  let at = 0;
  for (const { name, start, end } of bad) {
    const back = told.has(name) ? [] : lost(name);
    told.add(name);
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
