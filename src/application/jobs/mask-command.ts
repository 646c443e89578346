import type { PatchCommand } from "../../domain/patch/command.ts";
import { isSecretField } from "../../domain/platform/secret-name.ts";

/** A command as it may be shown and written down: without secrets, and without the parsed edit. */
export function maskCommand(command: PatchCommand, mask: (text: string) => string): PatchCommand {
  const { edit: _, ...plain } = command;
  return {
    ...plain,
    target: mask(command.target),
    content: mask(command.content),
    ...(command.env !== undefined && { env: maskValues(command.env, mask) }),
    ...(command.metadata !== undefined && { metadata: maskValues(command.metadata, mask) }),
  };
}

function maskValues(values: Readonly<Record<string, string>>, mask: (text: string) => string) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value !== "" && isSecretField(name) ? "****" : mask(value),
    ]),
  );
}
