export const helpTexts = {
  usage: "Usage: picoclaw COMMAND [options]",
  version: "print the version",
  exitCodes:
    "Exit codes: 0 done · 1 ran, something failed · 2 bad input, nothing ran · 3 refused before running",
  /** The options of every command. */
  common: {
    "--workspace DIR": "the folder to work on (default: this one)",
    "--config FILE": "the configuration file",
    "--json": "print one JSON document",
    "--help": "this text",
  },
  /** The purposes of commands. */
  groups: {
    begin: "Get started",
    ask: "Ask for work",
    changes: "Changes, and how to undo them",
    serve: "Channels and the console",
    tools: "Tools and environments",
    rest: "Settings and the rest",
  },
  man: {
    name: "NAME",
    purpose: "a coding agent that can undo everything it did",
    synopsis: "SYNOPSIS",
    usage: "COMMAND [options]",
    common: "OPTIONS OF EVERY COMMAND",
    exit: "EXIT STATUS",
    files: "FILES",
    filesText:
      "~/.picoclaw/config.yaml: the configuration (PICOCLAW_HOME: another folder). picoclaw.yaml in a workspace: the settings of that workspace.",
  },
  commands: {
    chat: {
      does: "send one message, or start a conversation at a terminal",
      "--route ROUTE": "who answers: CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE, CODE1-3",
      "--name NAME": "a separate chat; the same name continues it",
      "--fork NAME": "start the chat of --name as a copy of this one (default: the chat without a name)",
      "--list": "list the chats with their last message and folder",
      "--forget NAME": "forget a chat of this folder; its jobs stay",
      "--plain": "lines only, for screen readers: no colours, no cursor moves (also PICOCLAW_PLAIN=1)",
      "--events": "print events as NDJSON",
    },
    apply: {
      does: "apply a patch as one job",
      "--dry-run": "list the commands, run nothing",
      "--preview": "run it without touching the workspace, show the changes, and keep them as a preview",
      "--job JOB": "apply exactly that preview",
      "--stop-on-error": "stop at the first failure",
      "--atomic": "undo everything if anything fails",
      "--auto-commit": "commit before and after",
      "--group NAME": "put the job into a group that can be undone as a whole",
      "--allow-net": "allow the network in a preview",
    },
    undo: {
      does: "undo the last job, or the named one",
      "--list": "only show which paths it would restore",
      "--force": "overwrite later changes",
    },
    redo: {
      does: "apply an undone job again",
      "--list": "only show which paths it would change",
      "--force": "overwrite later changes",
    },
    jobs: {
      does: "list past jobs",
      "--ids": "with the id of each job, which every folder and JSON know it by",
      "--limit N": "how many jobs",
      "--all": "of every workspace",
      "--live": "list running jobs, refreshed every second at a terminal (q quits)",
    },
    discard: {
      does: "discard a preview (the only one, or the named one)",
      "--aside":
        "instead: remove for good the originals that could not be put back (picoclaw doctor lists them)",
    },
    stop: { does: "stop a running job; none of it is applied" },
    ps: {
      does: "list the background processes of this folder (a dev server, a watcher); also start, log, restart, stop, clear",
      "start -- COMMAND": "start one; it stays until it is stopped",
      "log NAME": "show the end of its output",
      "restart NAME": "stop it and start it again",
      "stop NAME": "stop it and everything it started",
      clear: "remove those that have ended from the list",
      "--name NAME": "start: its name (default: from the command)",
      "--port N": "start: the port to listen on, passed to the command as PORT",
      "--over JOB": "start: on top of a preview, on a free port; the folder is not changed",
      "--restart": "start: restart it after each applied job",
      "--lines N": "log: how many lines (50)",
      "--all": "of every workspace; stop: all of this one",
    },
    show: {
      does: "show one job and its changes; JOB:FILE: a file as it was after that job",
      "--diff": "with diffs",
      "--all": "with every path, including those of .git and ignored ones",
    },
    diff: { does: "show what the last job changed, or the named one; A..B: what changed between two jobs" },
    why: {
      does: "show which job wrote a line (FILE:LINE), for which request, and what it replaced",
      "--removed TEXT": "instead: which jobs removed lines with this text",
    },
    stats: {
      does: "show cost and tokens by day and model, how many jobs were green at the first attempt, and how many were undone",
      "--days N": "how many days (30)",
      "--csv": "print a line for each day and model as CSV",
    },
    export: {
      does: "print a conversation with its jobs, differences and verdicts as one Markdown document, secrets masked",
      "--name NAME": "which chat",
      "--html": "as a page that needs no other file",
    },
    compare: {
      does: "compare models, coders or agents on cases from this workspace's own jobs and commits; cases: list them (also cases add, drop, edit)",
      "--cases N": "how many cases (12)",
      "--commits N": "how many commits to look through (200)",
      "--see N": "cases: run the tests of cases until N are seen to judge",
      "--issues": "cases: add the text of the issues that commits name",
      "--repeat K": "plays of each case (1)",
      "--budget USD": "stop at this cost (5)",
      "--at-once N": "plays at the same time (2)",
      "--set KEY=VALUE": "a setting for all contestants; may be given several times",
      "--adopt": "write the order of coders that the result supports to your configuration",
      "--csv": "print the table as CSV",
    },
    bisect: {
      does: "find the first job after which a command fails; the workspace is not touched",
      "--timeout SECONDS": "for each run of the command (600)",
      "--at-once N": "runs at the same time (3)",
    },
    tool: { does: "call one of the agent's tools; prints its result as JSON" },
    tools: {
      does: "list the agent's tools and their definitions",
      "--format FORM": "in the format of openai, anthropic or mcp",
    },
    solve: {
      does: "solve a GitHub or GitLab issue, PR or MR, and open a pull request",
      "--worker KIND": "a worker CLI instead of PicoClaw's own loop: codex-cli, claude-code, gemini-cli",
      "--candidates N": "N coders at once, each in its own container; the checks choose (1 to 5)",
      "--fresh": "start over instead of continuing the last try",
    },
    pair: {
      does: "approve someone who wrote from a chat service; also list, add, remove",
      "--role ROLE": "user (default) or operator",
      "--name NAME": "a name to show",
    },
    mcp: {
      does: "offer PicoClaw's tools to other agents as an MCP server; with a subcommand, manage the MCP servers that PicoClaw itself calls",
      "add NAME URL": "add a server by its address; every chat can then use its tools",
      "add NAME -- COMMAND…": "add a program on this machine; it is started when needed",
      list: "list the servers, including those of a trusted project's .mcp.json",
      "test [NAME]": "connect to one or all of them and list their tools",
      "login NAME": "log in to a server that requires it, in a browser",
      "logout NAME": "delete the saved login",
      "remove NAME": "remove a server that was added",
      "--http PORT": "listen on 127.0.0.1 instead of stdio",
      "--header TEXT": `add: a header, e.g. "Authorization: Bearer \${TOKEN}"; several times`,
      "--env NAME=TEXT": "add: a variable of the program, e.g. TOKEN=env:TOKEN; several times",
      "--coders WHICH": "add: which of its tools coders get: off, read-only (default) or all",
      "--paste": "login: paste the final address from the browser; for a browser on another machine",
    },
    acp: { does: "run as an agent for editors (Zed, JetBrains, Neovim) over the Agent Client Protocol" },
    env: {
      does: "task environments: prepare, exec, edit, list, info, cleanup, prune",
      "--task UUID": "the task (prepare, exec, edit, info, cleanup)",
      "--repo URL|PATH": "prepare: the repository",
      "--env NAME": "prepare: the environment (default: by the project's files)",
      "--branch B": "prepare: a branch, a tag, or refs/…",
      "--target B": "prepare: the branch it will be merged into, to compare with",
      "--timeout S": "exec: the time limit in seconds",
      "--cwd DIR": "exec: the folder to run in",
      "--session NAME": "exec: share folder and variables with earlier commands of that session",
      "-- COMMAND": "exec: the command",
      "--tool NAME": "edit: a tool other than text_editor",
    },
    images: {
      does: "build the images of environments",
      "--from IMAGE": "the base image; debian-rootfs builds one with debootstrap",
      "--again": "rebuild even unchanged images",
    },
    serve: {
      does: "run the web console, the HTTP API, webhooks and schedules",
      "--host ADDRESS": "the address to listen on",
      "--port N": "the port; 0 for any free one",
      "--demo": "a scripted model and a throw-away workspace",
      link: "create a new sign-in link",
      "token create NAME": "create a token for the API",
      "token list": "list the tokens",
      "token remove ID": "revoke a token",
      "--user NAME": "the owner of the link or token",
      "--role ROLE": "operator or user",
      "--scope LIST": "some of read,chat,jobs,mcp",
    },
    join: {
      does: "make this machine, or another process on it, a worker of a shared database",
      "--labels LIST":
        "labels of this machine, for tasks that require them (docker and the architecture are detected)",
      "--concurrency N": "how many messages, and how many tasks, at once",
    },
    fleet: {
      does: "show the machines that share the database, the queue, and failed work",
      "retry ID": "queue failed work again, at the end of its chat",
      "discard ID": "discard failed work",
    },
    run: {
      does: "run a task file: plan, worker CLI in a container, assess, until done",
      "--no-meta": "no planning model: the worker gets the requirements, then the remaining failures",
      "--preview": "keep the changes as a preview (with --no-meta)",
      "--follow": "show every step as it happens",
      "--resume ID": "resume an interrupted task",
      "--print-schema": "print the JSON Schema for editors",
    },
    init: {
      does: "choose models available on this machine, test them, and write a first configuration file",
      "--yes": "ask nothing; take the recommended choice (questions stay on this machine)",
      "--force": "write it again; the old file is kept next to it",
    },
    login: {
      does: "ask for an API key, test it, and keep it for you alone (also: picoclaw login PROVIDER < FILE)",
      "--forget": "remove the kept key of that provider",
    },
    config: { does: "show the effective configuration, secrets masked; or check it" },
    trust: { does: "trust this folder's picoclaw.yaml, commands and skills" },
    doctor: {
      does: "check this machine and suggest fixes",
      "--repair": "finish an interrupted apply or undo",
    },
    db: {
      does: "the database: show its state, migrate it, copy it to Postgres (address or env:NAME), forget a person (channel:user)",
    },
    backup: { does: "copy the database and the configuration into a new folder, even while serving" },
    restore: { does: "fill an empty database from a backup" },
    completion: { does: "completion for bash, zsh or fish: source <(picoclaw completion bash)" },
    man: {
      does: "print the manual page, in your language",
      "| man -l -": "read it",
      "> picoclaw.1": "keep it, e.g. in ~/.local/share/man/man1",
    },
    update: {
      does: "show the commands that update this installation; changes nothing and contacts no server",
      "--json": "the version, its folder, how it was installed, and the commands",
    },
    uninstall: {
      does: "show how to remove this installation, and where its data is; changes nothing",
      "--json": "the version, its folder, how it was installed, the commands, and the folder of the data",
    },
    demo: { does: "a tour: fixes a failing test, then undoes rm -rf .git node_modules src" },
  },
};

/** `mcp add|list|test|login|logout|remove`. */
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
