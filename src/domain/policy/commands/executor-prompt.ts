const PLACE = "{allowed_commands_list}";

/** The fragment of 001 §6.5.1 with the list in its place; a function, because `$&` in a list is no pattern. */
export function fillExecutorPrompt(template: string, commandsText: string): string {
  return template.replaceAll(PLACE, () => commandsText);
}
