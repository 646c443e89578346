/** One setting of a git configuration file; section and key in lower case, subsection as written. */
export interface GitSetting {
  readonly name: string;
  readonly value: string;
}

/** Settings that make git run a program or read another file. `*` stands for a subsection. */
const PROGRAM_KEYS = [
  /^core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand|worktree|attributesfile)$/,
  /^(sequence\.editor|diff\.external|interactive\.difffilter|init\.templatedir|web\.browser|uploadpack\.packobjectshook|gpg\.program|ssh\.variant|core\.commentchar\.program)$/,
  /^(credential|gpg|browser|man|pager|difftool|mergetool|guitool|trailer|sendemail)(\..*)?\.(helper|program|defaultkeycommand|cmd|command|path|smtpserver|sendmailcmd|tocmd|cccmd|headercmd)$/,
  /^pager\./,
  /^filter\..*\.(clean|smudge|process|required)$/,
  /^diff\..*\.(command|textconv)$/,
  /^merge\..*\.driver$/,
  /^remote\..*\.(uploadpack|receivepack|vcs|proxy)$/,
  /^(include|includeif)(\..*)?\.path$/,
  /^protocol\..*\.allow$/,
  /^extensions\.worktreeconfig$/,
  /^url\..*\.(insteadof|pushinsteadof)$/,
];

/** Whether a setting lets git run a program of somebody's choice. */
export function runsPrograms({ name, value }: GitSetting): boolean {
  if (name.startsWith("alias.")) return value.trimStart().startsWith("!");
  if (/^submodule\..*\.update$/.test(name)) return value.trimStart().startsWith("!");
  if (/^remote\..*\.(url|pushurl)$/.test(name)) return /^\s*ext::/.test(value);
  return PROGRAM_KEYS.some((key) => key.test(name));
}

/** The settings in `after` that run programs and did not stand so in `before`. */
export function newProgramSettings(before: string, after: string): GitSetting[] {
  const known = new Set(parseGitConfig(before).map(({ name, value }) => `${name}\0${value}`));
  return parseGitConfig(after).filter(
    (setting) => runsPrograms(setting) && !known.has(`${setting.name}\0${setting.value}`),
  );
}

/** Reads git's configuration syntax: sections, subsections, continuation lines, quotes, comments. */
export function parseGitConfig(text: string): GitSetting[] {
  const settings: GitSetting[] = [];
  let section = "";
  let rest = text.replaceAll("\r\n", "\n").replace(/^\ufeff/, "");
  while (rest !== "") {
    rest = rest.replace(/^[\s]+/, "");
    const header = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]/.exec(rest);
    if (header !== null) {
      section = `${(header[1] as string).toLowerCase()}${header[2] === undefined ? "" : `.${header[2].replace(/\\(.)/g, "$1")}`}`;
      rest = rest.slice(header[0].length);
      continue;
    }
    const key = /^([A-Za-z][\w-]*)[ \t]*(=?)/.exec(rest);
    if (key === null || section === "") {
      rest = rest.slice(Math.max(1, endOfLine(rest)));
      continue;
    }
    const { value, length } = readValue(rest.slice(key[0].length));
    settings.push({
      name: `${section}.${(key[1] as string).toLowerCase()}`,
      value: key[2] === "=" ? value : "true",
    });
    rest = rest.slice(key[0].length + length);
  }
  return settings;
}

function endOfLine(text: string): number {
  const end = text.indexOf("\n");
  return end < 0 ? text.length : end;
}

/** Blanks around a value go, those in quotes stay. A quote that is not closed ends with its line. */
function readValue(text: string): { value: string; length: number } {
  let value = "";
  let kept = 0;
  let quoted = false;
  let i = 0;
  for (; i < text.length; i++) {
    const char = text[i] as string;
    if (char === "\n") break;
    if (char === "\\") {
      const next = text[i + 1] ?? "";
      i += 1;
      if (next !== "\n") {
        value += { n: "\n", t: "\t", b: "\b" }[next] ?? next;
        kept = value.length;
      }
    } else if (char === '"') quoted = !quoted;
    else if ((char === "#" || char === ";") && !quoted) {
      i += endOfLine(text.slice(i));
      break;
    } else if (quoted || !/\s/.test(char)) {
      value += char;
      kept = value.length;
    } else if (value !== "") value += char;
  }
  return { value: value.slice(0, kept), length: i };
}
