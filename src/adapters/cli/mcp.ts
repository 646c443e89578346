import type { McpServerReport, McpServers } from "../../application/ports/mcp.ts";
import type { McpLoginState, McpServerEntry } from "../../domain/chat/mcp-servers.ts";
import { type McpMessages, mcpMessagesFor } from "../../domain/texts/cli.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import {
  abortable,
  type Flags,
  printable,
  readPort,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
  succeed,
} from "./command.ts";
import { openedStoreOrStop, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const INTERRUPTED = 130;

/**
 * `mcp [--http PORT]`: lends the tools to other agents. Standard output carries the protocol and nothing else. With a word
 * behind it, the servers of others that PicoClaw itself calls.
 */
export const command: Subcommand = {
  name: "mcp",
  usage: "mcp [add|list|test|login|logout|remove …]",
  flags: { http: "string", header: "lines", env: "lines", coders: "string", paste: "boolean" },
  words: 60,
  run: mcp,
};

async function mcp(program: CliProgram, flags: Flags): Promise<number> {
  const { values, json } = flags;
  if (flags.words.length > 0) return manageServers(program, flags);
  const port = values.http === undefined ? null : readPort(values.http);
  if (port === undefined) return refuseUsage(program, json, "--http PORT: 0-65535");
  const server = await openOrStop(program, values, program.openMcp);
  try {
    await abortable((stop) => (port === null ? server.serveStdio(stop) : server.serveHttp(port, stop)));
    return EXIT.done;
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error;
    const text = `127.0.0.1:${port}: ${(error as Error).message}`;
    return refuseWork(program, json, "port", text);
  }
}

async function manageServers(program: CliProgram, { values, words, json }: Flags): Promise<number> {
  const texts = mcpMessagesFor(resolveLocale({ env: program.env }));
  const usage = (text: string = texts.usage) => refuseUsage(program, json, text);
  const [action = "", name, ...rest] = words;
  const opened = await openedStoreOrStop(program, values, program.openMcpServers);
  const { servers } = opened;
  const say = (document: object, text: string) =>
    program.out(json ? `${JSON.stringify(document)}\n` : `${printable(text)}\n`);
  switch (action) {
    case "list": {
      if (name !== undefined) return usage();
      const listed = await servers.list();
      const lines = [
        ...listed.map(({ name: server, what, coders, login }) =>
          [`${server}  ${what}  (coders: ${coders})`, wordLogin(texts, server, login)].join("  ").trimEnd(),
        ),
        ...servers.unavailable.map(({ server, detail }) => texts.unusable(server, detail)),
      ];
      say(
        { success: true, servers: listed, unavailable: servers.unavailable },
        lines.join("\n") || texts.none,
      );
      return EXIT.done;
    }
    case "test": {
      if (rest.length > 0) return usage();
      const reports = await servers.test(name ?? null);
      if (reports.length === 0) return usage(name === undefined ? texts.none : texts.unknown(name));
      const isFine = reports.every(({ ok }) => ok);
      say(
        { success: isFine, servers: reports },
        reports.map((report) => wordReport(texts, report)).join("\n"),
      );
      return isFine ? EXIT.done : EXIT.failed;
    }
    case "login":
      if (name === undefined || rest.length > 0) return usage();
      return login(program, { name, servers, texts, json, isPasted: values.paste === true });
    case "logout": {
      if (name === undefined || rest.length > 0) return usage();
      const had = await servers.logout(name);
      if (had === null) return usage(texts.unknown(name));
      say({ success: true, name, had_login: had }, had ? texts.loggedOut(name) : texts.notLoggedIn(name));
      return EXIT.done;
    }
    case "remove": {
      if (name === undefined || rest.length > 0) return usage();
      if (!(await servers.remove(name))) return usage(texts.unknown(name));
      say({ success: true, name }, texts.removed(name));
      return EXIT.done;
    }
    case "add": {
      const [what = ""] = rest;
      if (/^[a-z][a-z0-9+.-]*:\/\//i.test(what) && !/^https?:\/\//.test(what))
        return usage(texts.notWeb(what));
      const entry = name === undefined ? null : readEntry(values, rest);
      if (name === undefined || entry === null) return usage();
      const added = await servers.add(name, entry);
      if ("why" in added) return usage(added.why);
      say({ success: true, name, file: added.file }, texts.added(name, added.file));
      return EXIT.done;
    }
    default:
      return usage();
  }
}

interface LoginWanted {
  readonly name: string;
  readonly servers: McpServers;
  readonly texts: McpMessages;
  readonly json: boolean;
  readonly isPasted: boolean;
}

/** `mcp login NAME`: the address is printed to standard error, so that standard output contains only the outcome. */
async function login(
  program: CliProgram,
  { name, servers, texts, json, isPasted }: LoginWanted,
): Promise<number> {
  const outcome = await abortable((signal) =>
    servers.login(name, {
      page: texts.loginPage,
      signal,
      async announce(address) {
        program.err(`${printable(texts.loginAddress(name, address))}\n`);
        if (isPasted) return (await program.askLine(texts.loginPaste)) ?? "";
        await program.openInBrowser(address);
        program.err(`${texts.loginWaits}\n`);
        return null;
      },
    }),
  );
  if (outcome === null) return refuseUsage(program, json, texts.unknown(name));
  const { kind } = outcome;
  const text = texts.loginEnd[kind](name, "detail" in outcome ? outcome.detail : "");
  switch (kind) {
    case "done":
    case "not-needed":
      return succeed(program, json, { success: true, name, login: kind }, text);
    case "no-address":
    case "has-header":
    case "no-registration":
      return refuseInput(program, json, kind, text);
    case "stopped":
      refuseWork(program, json, kind, text);
      return INTERRUPTED;
  }
  kind satisfies "too-late" | "bad-server" | "silent" | "denied" | "bad-paste" | "failed";
  return refuseWork(program, json, kind, text);
}

function wordLogin(texts: McpMessages, name: string, state: McpLoginState): string {
  return state === "needed" ? `${texts.loginState.needed} ${name}` : texts.loginState[state];
}

function wordReport(texts: McpMessages, report: McpServerReport): string {
  if (!report.ok && report.needsLogin === true) return texts.loginNeeded(report.server);
  if (!report.ok) return texts.unusable(report.server, report.detail);
  const readOnly = report.tools.filter(({ isReadOnly }) => isReadOnly).length;
  return texts.works(
    report.server,
    report.tools.map(({ name }) => name),
    readOnly,
  );
}

/** Null: neither an address nor a program, or a flag that cannot be read. */
function readEntry(values: Flags["values"], rest: readonly string[]): Partial<McpServerEntry> | null {
  const [first, ...args] = rest;
  const headers = readPairs(values.header, /^([A-Za-z0-9-]+)\s*:\s*(.+)$/);
  const env = readPairs(values.env, /^([A-Za-z_]\w*)=(.*)$/);
  const { coders } = values;
  if (first === undefined || headers === null || env === null) return null;
  if (coders !== undefined && coders !== "off" && coders !== "read-only" && coders !== "all") return null;
  const isAddress = /^https?:\/\//.test(first);
  if (isAddress ? args.length > 0 || values.env !== undefined : values.header !== undefined) return null;
  return {
    ...(isAddress ? { url: first } : { command: first }),
    ...(args.length > 0 && { args }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(coders !== undefined && { coders }),
  };
}

function readPairs(given: string | boolean | undefined, shape: RegExp): Record<string, string> | null {
  const pairs: [string, string][] = [];
  for (const line of typeof given === "string" ? given.split("\n") : []) {
    const [, key, value] = shape.exec(line) ?? [];
    if (key === undefined || value === undefined) return null;
    pairs.push([key, value]);
  }
  return Object.fromEntries(pairs);
}
