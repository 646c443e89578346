import { fillOwnCommand, withSkill } from "../../../domain/routing/own-command.ts";
import { readExplicitRoute, readSlashCommand } from "../../../domain/routing/slash-command.ts";
import type { ChatParts } from "../parts.ts";
import { commandNames } from "./registry.ts";

/**
 * A message that names a command of one's own, as the request it stands for. `text` is the message itself where it names
 * none: PicoClaw's own commands and routes go first.
 */
export function ownRequest(
  parts: Pick<ChatParts, "ownCommands" | "commands">,
  text: string,
): { readonly text: string } | { readonly untrusted: string } {
  const command = readSlashCommand(text);
  if (command === undefined || readExplicitRoute(text) !== undefined) return { text };
  if (commandNames(parts).includes(command.name)) return { text };
  const own = parts.ownCommands.find(command.name);
  if (own === null) return { text };
  if (own === "untrusted") return { untrusted: command.name };
  const filled =
    own.kind === "skill"
      ? withSkill(own.name, own.body, command.rest)
      : fillOwnCommand(own.body, command.rest);
  return { text: own.route === null ? filled : `/${own.route.toLowerCase()} ${filled}` };
}
