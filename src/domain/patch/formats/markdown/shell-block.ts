import type { PatchCommand } from "../../command.ts";

/** A ```` ```bash ```` block is one command. Undefined when there is nothing in it. */
export function shellBlock(body: string, shell: "sh" | "zsh" | undefined): PatchCommand | undefined {
  const script = body.replaceAll("\r\n", "\n").trim();
  if (script === "") return undefined;
  return {
    type: "shell_command",
    action: "run",
    target: script,
    content: "",
    ...(shell !== undefined && { shell }),
  };
}

/**
 * In a ```` ```console ```` block what follows `$ ` was typed, with the lines it continues on after a `\`
 * (a `> ` there is the shell's prompt); the rest is output. All that was typed is one command.
 */
export function consoleBlock(body: string): PatchCommand | undefined {
  const typed: string[] = [];
  let continues = false;
  for (let from = 0; from < body.length; ) {
    const newline = body.indexOf("\n", from);
    const end = newline === -1 ? body.length : newline;
    const line = body.slice(from, body.charAt(end - 1) === "\r" && end > from ? end - 1 : end);
    from = end + 1;
    if (continues) typed.push(line.startsWith("> ") ? line.slice(2) : line);
    else if (line.startsWith("$ ")) typed.push(line.slice(2));
    else continue;
    continues = endsWithContinuation(line);
  }
  return shellBlock(typed.join("\n"), undefined);
}

function endsWithContinuation(line: string): boolean {
  let backslashes = 0;
  while (line.charAt(line.length - 1 - backslashes) === "\\") backslashes++;
  return backslashes % 2 === 1;
}
