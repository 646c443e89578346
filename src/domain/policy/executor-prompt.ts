const ALLOWED_COMMANDS_MARK = "{allowed_commands_list}";

/** The template with the list in its place; a function, because `$&` in a list is no pattern. */
export function fillExecutorPrompt(template: string, commandsText: string): string {
  return template.replaceAll(ALLOWED_COMMANDS_MARK, () => commandsText);
}
