import type { AccessStore, ApiToken, Pairing, Person, Role, Scope, WebSession } from "../ports/access.ts";
import { SCOPES } from "../ports/access.ts";
import type { SignIn } from "./access.ts";

export interface ManageAccessDeps {
  readonly access: AccessStore;
  readonly signIn: SignIn;
  readonly confirm: (code: string, role: Role, name: string | null) => Promise<Person | null>;
  readonly now: () => Date;
}

export interface AccessNow {
  readonly people: readonly Person[];
  readonly waiting: readonly Pairing[];
  readonly sessions: readonly WebSession[];
  readonly tokens: readonly ApiToken[];
}

/** Who may come in, as operators see and change it. Each change tells whether there was something to change. */
export interface ManageAccess {
  now(): Promise<AccessNow>;
  letIn(code: string, role: Role, name: string): Promise<Person | null>;
  changePerson(who: PersonName, change: Pick<Person, "role" | "name">): Promise<boolean>;
  removePerson(who: PersonName): Promise<boolean>;
  /** By the hash that `now` lists; the one it ended. */
  endSession(hash: string): Promise<WebSession | null>;
  endToken(id: string): Promise<ApiToken | null>;
  /** The secret half of a link; null when there is no such name. */
  makeLink(user: string, role: Role): Promise<string | null>;
  makeToken(request: {
    readonly name: string;
    readonly user: string;
    readonly role: Role;
    readonly scopes: readonly string[];
  }): Promise<string | "bad-user" | "incomplete">;
}

export interface PersonName {
  readonly channel: string;
  readonly userId: string;
}

const USER = /^[a-z0-9_-]{1,40}$/;

/** `operator` is always one: nobody else can be called that. The messages of schedules are named `schedule:…`. */
export function isUserName(user: string, role: Role): boolean {
  return USER.test(user) && user !== "schedule" && !(user === "operator" && role === "user");
}

export function createManageAccess({ access, signIn, confirm, now }: ManageAccessDeps): ManageAccess {
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
    letIn: (code, role, name) => confirm(code, role, name === "" ? null : name),
    async changePerson({ channel, userId }, { role, name }) {
      const person = await access.person(channel, userId);
      if (person === null) return false;
      await access.savePerson({ ...person, role, name });
      return true;
    },
    removePerson: ({ channel, userId }) => access.removePerson(channel, userId),
    async endSession(hash) {
      const session = await access.session(hash, now().toISOString());
      if (session !== null) await access.removeSession(hash);
      return session;
    },
    async endToken(id) {
      const token = (await access.tokens()).find((one) => one.id === id) ?? null;
      return token !== null && (await access.removeToken(id)) ? token : null;
    },
    async makeLink(user, role) {
      return isUserName(user, role) ? signIn.createLink({ userId: user, role }) : null;
    },
    async makeToken({ name, user, role, scopes }) {
      if (!isUserName(user, role)) return "bad-user";
      const known = scopes.filter((scope): scope is Scope => SCOPES.includes(scope as Scope));
      if (name.trim() === "" || known.length === 0) return "incomplete";
      return (await signIn.createToken({ name: name.trim(), userId: user, role, scopes: known })).secret;
    },
  };
}
