import { fillOwnCommand, withSkill } from "../../domain/chat/message-commands.ts";
import { readSlashCommand } from "../../domain/chat/slash-command.ts";
import type { OwnCommand } from "../ports/own-commands.ts";
import { type NamedText, say } from "./reply-words.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { isBuiltIn } from "./built-in.ts";

/**
 * A message that names a command of one's own, as the request it stands for. `text` is the message itself where it names
 * none: PicoClaw's own commands and routes go first.
 */
export function readOwnRequest(
  parts: Pick<ChatDeps, "ownCommands" | "commands">,
  text: string,
): { readonly text: string; readonly notes: readonly NamedText[] } | { readonly untrusted: string } {
  const command = readSlashCommand(text);
  if (command === undefined || isBuiltIn(parts, command.name)) return { text, notes: [] };
  const own = parts.ownCommands.find(command.name);
  if (own === null) return { text, notes: [] };
  if (own === "untrusted") return { untrusted: command.name };
  const filled =
    own.kind === "skill"
      ? withSkill(own.name, own.body, command.rest)
      : fillOwnCommand(own.body, command.rest);
  return {
    text: own.route === null ? filled : `/${own.route.toLowerCase()} ${filled}`,
    notes: own.trouble === null ? [] : [say("ownTrouble", ownCommandFile(own), own.trouble)],
  };
}

export function ownCommandFile({ name, kind }: Pick<OwnCommand, "name" | "kind">): string {
  return kind === "skill" ? `skills/${name}/SKILL.md` : `commands/${name}.md`;
}
