import type { ServeMessages } from "../../domain/texts/serve.ts";
import {
  type AccessStore,
  type ApiToken,
  type InboundMessage,
  type Person,
  type Role,
  SCOPES,
  type Scope,
  type WebSession,
} from "../ports/serve.ts";

/** The user who looks or acts: a person in the console, or a program with a token. */
export interface Viewer {
  /** `web`, or the channel of the person whom a token represents. */
  readonly channel: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
  /** The same person on other channels, where an operator said so. */
  readonly also?: readonly WhoSpeaks[];
  /** The id of the token, where a program acts. */
  readonly token?: string;
}

export interface WhoSpeaks {
  readonly channel: string;
  readonly userId: string;
}

export function viewerIdentities({ channel, userId, also = [] }: Viewer): readonly WhoSpeaks[] {
  return [{ channel, userId }, ...also];
}

/** A chat does not know by which session or token it is spoken in: at the console the operator is known by name. */
export function roleInChat({ channel, userId }: WhoSpeaks): Role {
  return channel === "web" && userId === "operator" ? "operator" : "user";
}

export function viewerOwns(viewer: Viewer, owner: WhoSpeaks | null): boolean {
  if (viewer.role === "operator") return true;
  return viewerIdentities(viewer).some(
    ({ channel, userId }) => owner?.channel === channel && owner.userId === userId,
  );
}

export interface SignInDeps {
  readonly access: AccessStore;
  readonly sha256: (text: string) => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
}

export type SignIn = ReturnType<typeof createSignIn>;

const LINK_MS = 10 * 60_000;
export const SESSION_MS = 14 * 24 * 3_600_000;
/** Tokens are marked as used at most this often. */
const TOUCH_MS = 60_000;

export function createSignIn({ access, sha256, random, now }: SignInDeps) {
  const secretText = () => Buffer.from(random(32)).toString("base64url");
  const later = (ms: number) => new Date(now().getTime() + ms).toISOString();

  const marked = new Map<string, number>();
  /** Beside the request: a store that takes no writes is read all the same, and the use is marked by a later one. */
  const noteUse = (id: string, last: number): void => {
    const at = now();
    if (at.getTime() - Math.max(last, marked.get(id) ?? Number.NEGATIVE_INFINITY) <= TOUCH_MS) return;
    marked.set(id, at.getTime());
    access.touchToken(id, at.toISOString()).catch(() => {});
  };

  /** People of services whom an operator gave this name. */
  const namedSo = async (userId: string): Promise<WhoSpeaks[]> =>
    (await access.people())
      .filter(({ name, channel }) => name === userId && channel !== "web")
      .map((person) => ({ channel: person.channel, userId: person.userId }));

  return {
    /** The secret half of a link that opens the console once, within ten minutes. */
    async createLink({ userId, role }: Pick<WebSession, "userId" | "role">) {
      const secret = secretText();
      await access.saveLink({ hash: sha256(secret), userId, role, expiresAt: later(LINK_MS) });
      return secret;
    },
    /** Turns a link into a session; null if it was used or is too old. The secret is stored in a cookie. */
    async openLink(given: string) {
      const link = await access.takeLink(sha256(given), now().toISOString());
      if (link === null) return null;
      const secret = secretText();
      const session: WebSession = {
        hash: sha256(secret),
        userId: link.userId,
        role: link.role,
        csrf: secretText(),
        createdAt: now().toISOString(),
        expiresAt: later(SESSION_MS),
      };
      await access.saveSession(session);
      return { secret, session };
    },
    async session(secret: string) {
      const session = await access.session(sha256(secret), now().toISOString());
      if (session === null) return null;
      const { userId, role } = session;
      const also = await namedSo(userId);
      const viewer: Viewer = { channel: "web", userId, role, scopes: SCOPES, also };
      return { session, viewer };
    },
    closeSession: (secret: string) => access.removeSession(sha256(secret)),
    /** The token is shown once; only its hash is kept. */
    async createToken({ name, userId, role, scopes }: Pick<ApiToken, "name" | "userId" | "role" | "scopes">) {
      const secret = `pico_${secretText()}`;
      const token: ApiToken = {
        id: `tok_${Buffer.from(random(6)).toString("hex")}`,
        hash: sha256(secret),
        name,
        userId,
        role,
        scopes,
        createdAt: now().toISOString(),
        lastUsedAt: null,
      };
      await access.saveToken(token);
      return { secret, token };
    },
    async token(secret: string): Promise<Viewer | null> {
      const token = await access.token(sha256(secret));
      if (token === null) return null;
      const { id, userId, role, scopes, lastUsedAt } = token;
      noteUse(id, lastUsedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastUsedAt));
      return { channel: "web", userId, role, scopes, also: await namedSo(userId), token: id };
    },
  };
}

export interface ManageAccessDeps {
  readonly access: AccessStore;
  readonly signIn: SignIn;
  readonly now: () => Date;
}

const USER = /^[a-z0-9_-]{1,40}$/;

/** `operator` is always the operator: no other user can have that name. The messages of schedules are named `schedule:…`. */
export function isUserName(user: string, role: Role): boolean {
  return USER.test(user) && user !== "schedule" && !(user === "operator" && role === "user");
}

/** Access rights, as operators see and change them. Each change reports whether there was something to change. */
export function createManageAccess({ access, signIn, now }: ManageAccessDeps) {
  return {
    async now() {
      const at = now().toISOString();
      const [people, waiting, sessions, tokens] = await Promise.all([
        access.people(),
        access.pairings(at),
        access.sessions(at),
        access.tokens(),
      ]);
      return { people, waiting, sessions, tokens };
    },
    async changePerson(
      { channel, userId }: WhoSpeaks,
      { role, name }: Pick<Person, "role" | "name">,
    ): Promise<boolean> {
      const person = await access.person(channel, userId);
      if (person === null) return false;
      await access.savePerson({ ...person, role, name });
      return true;
    },
    /** By the hash that `now` lists; the one it ended. */
    async endSession(hash: string): Promise<WebSession | null> {
      const session = await access.session(hash, now().toISOString());
      if (session !== null) await access.removeSession(hash);
      return session;
    },
    async endToken(id: string): Promise<ApiToken | null> {
      const token = (await access.tokens()).find((one) => one.id === id) ?? null;
      return token !== null && (await access.removeToken(id)) ? token : null;
    },
    /** The secret half of a link; null when there is no such name. */
    async makeLink(user: string, role: Role): Promise<string | null> {
      return isUserName(user, role) ? signIn.createLink({ userId: user, role }) : null;
    },
    async makeToken(
      { name, userId, role }: Pick<ApiToken, "name" | "userId" | "role">,
      asked: readonly string[],
    ): Promise<string | "bad-user" | "incomplete"> {
      if (!isUserName(userId, role)) return "bad-user";
      const scopes = SCOPES.filter((scope) => asked.includes(scope));
      if (name === "" || scopes.length === 0) return "incomplete";
      return (await signIn.createToken({ name, userId, role, scopes })).secret;
    },
  };
}

export interface PairingDeps {
  readonly access: Pick<AccessStore, "savePairing" | "takePairing" | "savePerson" | "pairingOf">;
  readonly messages: () => ServeMessages;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
}

/** Without letters and digits that look alike. */
const LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_LETTERS = 8;
const VALID_MS = 3_600_000;

export function createPairingCodes({ access, messages, random, now }: PairingDeps) {
  return {
    async greet({ channel, userId, chatId }: InboundMessage): Promise<string> {
      const at = now();
      const known = await access.pairingOf(channel, userId, at.toISOString());
      // The same code as long as it holds: asking again neither floods the list nor makes guessing easier.
      const code =
        known?.code ?? [...random(CODE_LETTERS)].map((byte) => LETTERS[byte % LETTERS.length]).join("");
      if (known === null)
        await access.savePairing({
          code,
          channel,
          userId,
          chatId,
          name: "",
          expiresAt: new Date(at.getTime() + VALID_MS).toISOString(),
        });
      return messages().pairing(code);
    },
    /** Admits the stranger with this code; null when there is none, or it is too old. */
    async confirm(code: string, role: Role, name: string | null): Promise<Person | null> {
      const at = now().toISOString();
      const found = await access.takePairing(code.trim().toUpperCase(), at);
      if (found === null) return null;
      const { channel, userId } = found;
      const person: Person = { channel, userId, name: name ?? found.name, role, addedAt: at };
      await access.savePerson(person);
      return person;
    },
  };
}

/** Who may write: those signed in to the console, those whom the configuration allows, and those an operator let in. */
export function createKnownPeople(
  access: Pick<AccessStore, "person">,
  isAllowed: (channel: string, userId: string) => boolean,
) {
  return async (channel: string, userId: string): Promise<boolean> =>
    channel === "web" || isAllowed(channel, userId) || (await access.person(channel, userId)) !== null;
}

/** Messages of the configuration's own schedules have no sender; those of schedules made in a chat have their maker. */
const CONFIGURED_SCHEDULE = /^schedule:(?!chat\/)/;

/** Where no token was used, there is none that could be removed. */
export async function isTokenKept(access: Pick<AccessStore, "tokens">, token: unknown): Promise<boolean> {
  return typeof token !== "string" || (await access.tokens()).some(({ id }) => id === token);
}

/** Whether a message that waited may still be carried out: its sender may have been removed meanwhile, or its token. */
export function createMayStillWrite(
  access: Pick<AccessStore, "tokens">,
  isKnown: (channel: string, userId: string) => Promise<boolean>,
) {
  return async ({ channel, userId, eventId, replyTo }: InboundMessage): Promise<boolean> => {
    if (CONFIGURED_SCHEDULE.test(eventId)) return true;
    return (await isTokenKept(access, replyTo?.token)) && isKnown(channel, userId);
  };
}
