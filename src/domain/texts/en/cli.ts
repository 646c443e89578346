import help from "./help.json" with { type: "json" };

/** Texts of `--help` and of the manual page: plain words, so they are data. */
export const helpTexts = help;

export const mcpTexts = {
  usage:
    "Usage: picoclaw mcp add NAME URL [--header 'NAME: TEXT'] · mcp add NAME [--env NAME=TEXT] -- COMMAND ARGS… · mcp list · mcp test [NAME] · mcp login NAME [--paste] · mcp logout NAME · mcp remove NAME",
  none: "No MCP servers: picoclaw mcp add NAME URL, or a trusted .mcp.json in the project.",
  unknown: (name: string) => `There is no MCP server ${name}: picoclaw mcp list`,
  unusable: (server: string, detail: string) => `✗ ${server}: ${detail}`,
  works: (server: string, tools: readonly string[], readOnly: number) =>
    `✓ ${server}: ${tools.length} ${tools.length === 1 ? "tool" : "tools"}, ${readOnly} read-only: ${tools.join(", ")}`,
  notWeb: (address: string) =>
    `${address} is not the address of an MCP server: it must begin with http:// or https://.`,
  added: (name: string, file: string) => `Added ${name} to ${file}. Try it: picoclaw mcp test ${name}`,
  removed: (name: string) => `Removed: ${name}`,
  loginState: {
    none: "",
    kept: "logged in",
    needed: "login needed: picoclaw mcp login",
    unreachable: "does not answer",
  },
  loginNeeded: (name: string) => `✗ ${name}: login needed. Log in: picoclaw mcp login ${name}`,
  loginAddress: (name: string, address: string) =>
    `To log in to ${name}, open this address in a browser:\n\n  ${address}\n`,
  loginWaits:
    "Waiting for the browser, five minutes at most. Is it on another machine? Stop with Ctrl-C and add --paste.",
  loginPaste: "Paste the final address from the browser (the page may show an error): ",
  loginPage: {
    done: "You are logged in. You can close this window.",
    failed: "The login failed. The terminal says why.",
  },
  loginEnd: {
    done: (name: string) => `Logged in to ${name}. Try it: picoclaw mcp test ${name}`,
    "not-needed": (name: string) => `${name} needs no login.`,
    "no-address": (name: string) => `${name} is a program. Only servers with an address have a login.`,
    "has-header": (name: string) =>
      `${name} already has an Authorization header. Remove it to log in instead.`,
    "no-registration": (name: string) =>
      `${name} does not register clients by itself. Create an OAuth application there and set mcp_servers.${name}.oauth.client_id.`,
    "too-late": () => "There was no login within five minutes. Nothing was saved.",
    stopped: () => "Stopped. Nothing was saved.",
    "bad-server": (name: string) =>
      `The login to ${name} failed: its authorization server sent an invalid response. Nothing was saved.`,
    silent: (name: string, seconds: string) =>
      `The login to ${name} failed: no answer within ${seconds} seconds. Nothing was saved.`,
    denied: (name: string, reason: string) =>
      `The server refused the login to ${name}: ${reason}. Nothing was saved.`,
    "bad-paste": (name: string, address: string) =>
      `This is not the address of this login to ${name}. Paste the whole final address from the browser; it begins with ${address} and contains code= and state=. Nothing was saved. To try again: picoclaw mcp login ${name} --paste`,
    failed: (name: string, detail: string) => `The login to ${name} failed: ${detail}`,
  },
  loggedOut: (name: string) => `Logged out of ${name}.`,
  notLoggedIn: (name: string) => `There is no saved login for ${name}.`,
};
