import type { McpServerReport, McpServers } from "../../application/ports/mcp.ts";
import type { McpLoginState, McpServerEntry } from "../../domain/chat/mcp-servers.ts";
import { type McpMessages, mcpMessagesFor } from "../../domain/texts/cli.ts";
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
import { openOptions, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/**
 * `mcp [--http PORT]`: lends the tools to other agents. Standard output carries the protocol and nothing else. With a word
 * behind it, the servers of others that PicoClaw itself calls.
 */
export const command: Subcommand = {
  name: "mcp",
  usage: "mcp [add|list|test|login|logout|remove …]",
  flags: "--http= --header=* --env=* --coders= --paste",
  words: 60,
  run: mcp,
};

async function mcp(program: CliProgram, flags: Flags): Promise<number> {
  const { values } = flags;
  if (flags.words.length > 0) return manageServers(program, flags);
  const port = values.http === undefined ? null : readPort(values.http);
  if (port === undefined) return refuseUsage(program, "--http PORT: 0-65535");
  const server = await openOrStop(program, values, program.openMcp);
  try {
    await abortable((stop) => (port === null ? server.serveStdio(stop) : server.serveHttp(port, stop)));
    return EXIT.done;
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error;
    const text = `127.0.0.1:${port}: ${(error as Error).message}`;
    return refuseWork(program, "port", text);
  }
}

async function manageServers(program: CliProgram, { values, words }: Flags): Promise<number> {
  const texts = mcpMessagesFor(program.locale);
  const usage = (text: string = texts.usage) => refuseUsage(program, text);
  const [action = "", name, ...rest] = words;
  const { servers } = await openOrStop(program, values, program.openMcpServers, "store");
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
      const document = { success: true, servers: listed, unavailable: servers.unavailable };
      return succeed(program, document, lines.join("\n") || texts.none);
    }
    case "test": {
      if (rest.length > 0) return usage();
      const reports = await servers.test(name ?? null);
      if (reports.length === 0) return usage(name === undefined ? texts.none : texts.unknown(name));
      const isFine = reports.every(({ ok }) => ok);
      const text = reports.map((report) => wordReport(texts, report)).join("\n");
      succeed(program, { success: isFine, servers: reports }, text);
      return isFine ? EXIT.done : EXIT.failed;
    }
    case "login":
      if (name === undefined || rest.length > 0) return usage();
      return login(program, { name, servers, texts, isPasted: values.paste === true });
    case "logout": {
      if (name === undefined || rest.length > 0) return usage();
      const had = await servers.logout(name);
      if (had === null) return usage(texts.unknown(name));
      const text = had ? texts.loggedOut(name) : texts.notLoggedIn(name);
      return succeed(program, { success: true, name, had_login: had }, text);
    }
    case "remove": {
      if (name === undefined || rest.length > 0) return usage();
      if (!(await servers.remove(name))) return usage(texts.unknown(name));
      return succeed(program, { success: true, name }, texts.removed(name));
    }
    case "add": {
      const [what = ""] = rest;
      if (/^[a-z][a-z0-9+.-]*:\/\//i.test(what) && !/^https?:\/\//.test(what))
        return usage(texts.notWeb(what));
      const entry = name === undefined ? null : readEntry(values, rest);
      if (name === undefined || entry === null) return usage();
      const added = await servers.add(name, entry);
      if ("why" in added) return usage(added.why);
      return succeed(program, { success: true, name, file: added.file }, texts.added(name, added.file));
    }
    default:
      return usage();
  }
}

interface LoginWanted {
  readonly name: string;
  readonly servers: McpServers;
  readonly texts: McpMessages;
  readonly isPasted: boolean;
}

/** `mcp login NAME`: the address is printed to standard error, so that standard output contains only the outcome. */
async function login(program: CliProgram, { name, servers, texts, isPasted }: LoginWanted): Promise<number> {
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
  if (outcome === null) return refuseUsage(program, texts.unknown(name));
  const { kind } = outcome;
  const text = texts.loginEnd[kind](name, "detail" in outcome ? outcome.detail : "");
  switch (kind) {
    case "done":
    case "not-needed":
      return succeed(program, { success: true, name, login: kind }, text);
    case "no-address":
    case "has-header":
    case "no-registration":
      return refuseInput(program, kind, text);
    case "stopped":
      refuseWork(program, kind, text);
      return EXIT.interrupted;
  }
  kind satisfies "too-late" | "bad-server" | "silent" | "denied" | "bad-paste" | "failed";
  return refuseWork(program, kind, text);
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

/** `acp`: an agent for editors. Standard output carries the protocol and nothing else. */
export const acpCommand: Subcommand = { name: "acp", usage: "acp", run: acp };

async function acp(program: CliProgram, { values }: Flags): Promise<number> {
  await abortable((signal) => program.serveAcp(openOptions(program, values), signal));
  return EXIT.done;
}
