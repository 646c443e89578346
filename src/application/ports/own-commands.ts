import type { OwnTrouble } from "../../domain/chat/message-commands.ts";
import type { Route } from "../../domain/config/route.ts";

/** A command that a user wrote: `commands/NAME.md`, or a skill, `skills/NAME/SKILL.md`. */
export interface OwnCommand {
  /** Lower case, without the slash. */
  readonly name: string;
  readonly kind: "command" | "skill";
  readonly from: "workspace" | "home";
  /** One line; empty where the file says nothing. */
  readonly description: string;
  /** Who answers it; null: the message is routed like any other. */
  readonly route: Route | null;
  readonly body: string;
  /** What of its head could not be used; the rest works. */
  readonly trouble: OwnTrouble | null;
}

/**
 * Commands of one's own, in `.picoclaw` of the workspace and in PicoClaw's home. They are read when they are asked for;
 * a file that cannot be read, is too large or lies behind a symbolic link is not there. The workspace's go before
 * those of the home, unless the folder is not trusted: then they are only named.
 */
export interface OwnCommands {
  /** By name. */
  list(): readonly OwnCommand[];
  find(name: string): OwnCommand | "untrusted" | null;
}
