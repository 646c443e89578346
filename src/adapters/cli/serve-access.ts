import { type Role, SCOPES, type Scope } from "../../application/ports/serve.ts";
import { isUserName } from "../../application/serve/access.ts";
import { type Flags, refuseInput, refuseUsage, succeed } from "./command.ts";
import { type CliProgram, EXIT, type OpenedServe } from "./program.ts";

type OpenServer = Extract<OpenedServe, { ok: true }>;

/** `serve link` and `serve token create|list|remove`: works beside a running server, through the store. */
export async function admit(
  program: CliProgram,
  { values, words, json }: Flags,
  opened: OpenServer,
): Promise<number> {
  const say = opened.words();
  const bad = (text: string) => refuseUsage(program, json, text);
  const [what, verb, name] = words;
  const role = (values.role ?? "operator") as Role;
  const userId = typeof values.user === "string" ? values.user : "operator";
  if (role !== "operator" && role !== "user") return bad(say.badRole(String(role)));
  if (!isUserName(userId, role)) return bad(say.badUser(userId));
  if (what === "link" && verb === undefined) {
    const { host, port, public_url: publicUrl } = opened.config.serve;
    const configured = `${host === "0.0.0.0" ? "127.0.0.1" : host}:${values.port ?? port}`;
    const here = (values.port === undefined ? opened.liveAddress() : null) ?? configured;
    const base = publicUrl?.replace(/\/+$/, "") ?? `http://${here}`;
    const listens = await answers(`http://${here}/healthz`);
    const login = `${base}/login/${await opened.signIn.createLink({ userId, role })}`;
    program.out(
      json
        ? `${JSON.stringify({ login, user: userId, role, listening: listens })}\n`
        : `${login}\n${say.loginLinkNote}\n`,
    );
    if (!listens && !json) program.err(`${say.nothingListens(here)}\n`);
    return EXIT.done;
  }
  if (what !== "token") return bad(say.usage);
  switch (verb) {
    case "create": {
      const scopes =
        typeof values.scope === "string" ? values.scope.split(",").map((one) => one.trim()) : ["read"];
      const strange = scopes.find((scope) => !SCOPES.includes(scope as Scope));
      if (strange !== undefined) return bad(say.badScope(strange, SCOPES.join(", ")));
      if (name === undefined) return bad(say.usage);
      const { secret, token } = await opened.signIn.createToken({
        name,
        userId,
        role,
        scopes: scopes as Scope[],
      });
      const document = { id: token.id, token: secret, scopes, user: userId, role };
      return succeed(program, json, document, say.tokenCreated(secret));
    }
    case "list": {
      const tokens = (await opened.access.tokens()).map(({ hash: _, ...token }) => token);
      const lines = tokens.map(
        (token) =>
          `${token.id}  ${token.name}  ${token.userId} (${token.role})  ${token.scopes.join(",")}  ${token.lastUsedAt ?? "-"}`,
      );
      return succeed(program, json, { tokens }, lines.join("\n") || say.noTokens);
    }
    case "remove": {
      if (name === undefined) return bad(say.usage);
      if (!(await opened.access.removeToken(name)))
        return refuseInput(program, json, "unknown-token", say.tokenUnknown(name));
      return succeed(program, json, { success: true, id: name }, say.tokenRemoved(name));
    }
    default:
      return bad(say.usage);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
