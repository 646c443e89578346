import type { Role, Scope } from "../ports/access.ts";

/** Who looks or acts: a person in the console, or a program with a token. */
export interface Viewer {
  /** `web`, or the channel of the person a token stands for. */
  readonly channel: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
  /** The same person on other channels, where an operator said so. */
  readonly also?: readonly WhoSpeaks[];
}

/** A person as one channel knows them. */
export interface WhoSpeaks {
  readonly channel: string;
  readonly userId: string;
}

/** Everybody the viewer is. */
export function viewerIdentities({ channel, userId, also = [] }: Viewer): readonly WhoSpeaks[] {
  return [{ channel, userId }, ...also];
}

/** A chat does not know by which session or token it is spoken in: at the console the operator is known by name. */
export function roleInChat({ channel, userId }: WhoSpeaks): Role {
  return channel === "web" && userId === "operator" ? "operator" : "user";
}

/** Operators see everything; users what is theirs. */
export function viewerOwns(viewer: Viewer, owner: WhoSpeaks | null): boolean {
  if (viewer.role === "operator") return true;
  return viewerIdentities(viewer).some(
    ({ channel, userId }) => owner?.channel === channel && owner.userId === userId,
  );
}
