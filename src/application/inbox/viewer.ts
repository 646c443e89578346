import type { Role, Scope } from "../ports/access.ts";

/** Who looks or acts: a person in the console, or a program with a token. */
export interface Viewer {
  /** `web`, or the channel of the person a token stands for. */
  readonly channel: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
}

/** Operators see everything; users what is theirs. */
export function owns(
  viewer: Viewer,
  owner: { readonly channel: string; readonly userId: string } | null,
): boolean {
  if (viewer.role === "operator") return true;
  return owner !== null && owner.channel === viewer.channel && owner.userId === viewer.userId;
}
