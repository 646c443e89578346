/** The file name above a block: a line of its own, in backticks, a heading, bold, or beside the opening fence. */
const LINES_ABOVE = 4;
const FENCE = /^\s*(`{3,}|~{3,})\s*(.*)$/;
const BARE_NAMES =
  /^(Makefile|Dockerfile|Containerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile|LICENSE|README|CHANGELOG|CODEOWNERS|\.[\w.-]+)$/;

/** Looks through the lines `from … at`, upwards from the last. */
export function pathAbove(text: string, from: number, at: number): string | null {
  let seen = 0;
  for (let end = at - 1, start = end; end >= from && seen < LINES_ABOVE; end = start - 1) {
    start = Math.max(from, end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1);
    const line = text.slice(start, end).trim();
    if (line === "") continue;
    seen++;
    const fence = FENCE.exec(line);
    const path = fence ? pathBesideFence(fence[2]!) : pathIn(line);
    if (path !== null) return path;
  }
  return null;
}

/** "```ts src/a.ts", "```src/a.ts", "```ts:src/a.ts", "```ts title=src/a.ts". */
function pathBesideFence(info: string): string | null {
  const last = info.trim().split(/\s+/).at(-1) ?? "";
  const name = last.replace(/^(?:title|file|path)=/, "").replace(/^["']|["']$/g, "");
  const afterColon = /^[\w+#-]+:(.+)$/.exec(name)?.[1] ?? name;
  return afterColon.includes("/") || /^[^.]+\.\w+$/.test(afterColon) ? plausible(afterColon) : null;
}

function pathIn(line: string): string | null {
  const quoted = /`([^`]+)`/.exec(line)?.[1] ?? /\*\*([^*]+)\*\*/.exec(line)?.[1];
  if (quoted !== undefined) {
    const name = quoted.trim().replace(/:$/, "");
    if (isNamed(name, true)) return name;
  }
  const comment = /^(?:\/\/|<!--|--)\s*(.+?)\s*(?:-->)?$/.exec(line)?.[1] ?? line;
  const marked = /^#{1,6}\s+|^(?:file(?:name|path)?|path)\s*:\s*/i;
  const own = marked.test(comment);
  const name = comment.replace(marked, "").replace(/:$/, "").trim();
  return isNamed(name, own) ? name : null;
}

/** `certain`: the line says by its form that it is a name, so spaces are allowed in it. */
function isNamed(name: string, certain: boolean): boolean {
  if (name === "" || name.length > 400 || /[<>|"\0]/.test(name)) return false;
  if (BARE_NAMES.test(name)) return true;
  const hasExtension = /[^/.\s][^/]*\.[A-Za-z0-9_+-]{1,12}$/.test(name);
  if (/\s/.test(name)) return hasExtension && (certain || (name.includes("/") && !/[,;!?]\s/.test(name)));
  return hasExtension || (name.includes("/") && /^[^\s()]+$/.test(name));
}

function plausible(name: string): string | null {
  return isNamed(name, false) ? name : null;
}
