import type { AccessStore, ApiToken, Role, Scope, WebSession } from "../ports/access.ts";
import { SCOPES } from "../ports/access.ts";
import type { Viewer, WhoSpeaks } from "./viewer.ts";

export interface SignInDeps {
  readonly access: AccessStore;
  readonly sha256: (text: string) => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
}

export interface SignIn {
  /** The secret half of a link that opens the console once, within ten minutes. */
  createLink(person: { readonly userId: string; readonly role: Role }): Promise<string>;
  /** Turns a link into a session; null when it was used or is too old. The secret goes into a cookie. */
  openLink(secret: string): Promise<{ readonly secret: string; readonly session: WebSession } | null>;
  session(secret: string): Promise<{ readonly viewer: Viewer; readonly session: WebSession } | null>;
  closeSession(secret: string): Promise<void>;
  /** The token is shown once; only its hash is kept. */
  createToken(request: {
    readonly name: string;
    readonly userId: string;
    readonly role: Role;
    readonly scopes: readonly Scope[];
  }): Promise<{ readonly secret: string; readonly token: ApiToken }>;
  token(secret: string): Promise<Viewer | null>;
}

const LINK_MS = 10 * 60_000;
export const SESSION_MS = 14 * 24 * 3_600_000;
/** Tokens are marked as used at most this often. */
const TOUCH_MS = 60_000;

export function createSignIn({ access, sha256, random, now }: SignInDeps): SignIn {
  const secretText = () => Buffer.from(random(32)).toString("base64url");
  const later = (ms: number) => new Date(now().getTime() + ms).toISOString();

  /** People of services whom an operator gave this name. */
  const namedSo = async (userId: string): Promise<WhoSpeaks[]> =>
    (await access.people())
      .filter(({ name, channel }) => name === userId && channel !== "web")
      .map((person) => ({ channel: person.channel, userId: person.userId }));

  return {
    async createLink({ userId, role }) {
      const secret = secretText();
      await access.saveLink({ hash: sha256(secret), userId, role, expiresAt: later(LINK_MS) });
      return secret;
    },
    async openLink(given) {
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
    async session(secret) {
      const session = await access.session(sha256(secret), now().toISOString());
      if (session === null) return null;
      const { userId, role } = session;
      const also = await namedSo(userId);
      return { session, viewer: { channel: "web", userId, role, scopes: SCOPES, also } };
    },
    closeSession: (secret) => access.removeSession(sha256(secret)),
    async createToken({ name, userId, role, scopes }) {
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
    async token(secret) {
      const token = await access.token(sha256(secret));
      if (token === null) return null;
      const { id, userId, role, scopes, lastUsedAt } = token;
      if (lastUsedAt === null || now().getTime() - Date.parse(lastUsedAt) > TOUCH_MS)
        await access.touchToken(id, now().toISOString());
      return { channel: "web", userId, role, scopes, also: await namedSo(userId) };
    },
  };
}
