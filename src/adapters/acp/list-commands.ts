import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { ChatMessages } from "../../domain/texts/texts.ts";

/** What can follow a slash, for the editor's completion, with the words of `/help`. */
export function listCommands(
  names: readonly string[],
  { help }: Pick<ChatMessages, "help">,
): AvailableCommand[] {
  return names.map((name) => {
    const [usage = "", what] = help.find(([command]) => command.split(" ").includes(`/${name}`)) ?? [];
    const hint = /(?:\[[^\]]+\]|[A-Z]\S*|on\|off)$/.exec(usage)?.[0];
    return { name, description: what ?? name, ...(hint !== undefined && { input: { hint } }) };
  });
}
