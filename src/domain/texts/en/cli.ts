export const helpTexts = {
  usage: "Usage: picoclaw COMMAND [options]",
  version: "the version",
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
    begin: "Begin",
    ask: "Ask for work",
    changes: "Changes, and how to take them back",
    serve: "Channels and the console",
    tools: "Tools and environments",
    rest: "Settings and the rest",
  },
  man: {
    name: "NAME",
    purpose: "a coding agent whose every job can be taken back",
    synopsis: "SYNOPSIS",
    usage: "COMMAND [options]",
    common: "OPTIONS OF EVERY COMMAND",
    exit: "EXIT STATUS",
    files: "FILES",
    filesText:
      "~/.picoclaw/config.yaml: the configuration (PICOCLAW_HOME: another folder). picoclaw.yaml in a workspace: what holds there.",
  },
  commands: {
    chat: {
      does: "send one message; without one, a conversation at a terminal",
      flags: {
        "--route ROUTE": "who answers: CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE, CODE1-3",
        "--name NAME": "a chat of its own; the same name goes on where it was",
        "--fork NAME": "begin (with --name) with what that chat knows; default is the one without a name",
        "--list": "the chats, what was said last in them, and where",
        "--forget NAME": "forget a chat of this folder; its jobs stay",
        "--plain": "lines only, for screen readers: no colours, no cursor moves (also PICOCLAW_PLAIN=1)",
        "--events": "print what happens as NDJSON",
      },
    },
    apply: {
      does: "carry out a patch as one job",
      flags: {
        "--dry-run": "list the commands, run nothing",
        "--preview": "really run it aside, show the changes, keep them staged",
        "--job JOB": "apply exactly that preview",
        "--stop-on-error": "stop at the first failure",
        "--atomic": "any failure takes everything back",
        "--auto-commit": "commit before and after",
        "--group NAME": "put the job into a group that undo takes back at once",
        "--allow-net": "allow the network in a preview",
      },
    },
    undo: {
      does: "take back the last or the named job",
      flags: {
        "--list": "only show which paths it would restore",
        "--force": "overwrite what was changed since",
      },
    },
    redo: {
      does: "bring a taken-back job in again",
      flags: {
        "--list": "only show which paths it would change",
        "--force": "overwrite what was changed since",
      },
    },
    jobs: {
      does: "the history of jobs",
      flags: {
        "--limit N": "how many",
        "--all": "of every workspace",
        "--live": "the jobs that run now; at a terminal drawn again each second (q leaves)",
      },
    },
    discard: { does: "throw a preview away (the only one that waits, or the named one)", flags: {} },
    stop: { does: "end a running job; nothing of it is applied", flags: {} },
    ps: {
      does: "background processes of this folder (a dev server, a watcher): start, log, restart, stop, clear",
      flags: {
        "start -- COMMAND": "start one; it stays until it is stopped",
        "log NAME": "the end of what it printed",
        "restart NAME": "end it and start it again",
        "stop NAME": "end it with everything it started",
        clear: "forget those that have ended",
        "--name NAME": "start: its name (default: from the command)",
        "--port N": "start: the port it will listen on; it finds the number as PORT",
        "--over JOB": "start: over a preview, on a free port; nothing of the folder is changed",
        "--restart": "start: start it again after each job that lands",
        "--lines N": "log: how many lines (50)",
        "--all": "of every workspace; stop: all of this one",
      },
    },
    show: {
      does: "one job with its changes",
      flags: {
        "--diff": "with the differences",
        "--all": "with every path, those of .git and ignored ones too",
      },
    },
    tool: { does: "call one of the agent's tools; prints its result as JSON", flags: {} },
    tools: {
      does: "the agent's tools and their definitions",
      flags: { "--format FORM": "as openai, anthropic or mcp write them" },
    },
    solve: {
      does: "work on one issue, PR or MR of GitHub or GitLab, up to its pull request",
      flags: {
        "--worker KIND": "a worker CLI instead of our own loop: codex-cli, claude-code, gemini-cli",
        "--candidates N": "N coders at once, each in a container of its own; the checks choose (1 to 5)",
        "--fresh": "begin anew instead of going on from what the last try kept",
      },
    },
    pair: {
      does: "let in a person who wrote from a chat service; also list, add, remove",
      flags: { "--role ROLE": "user (default) or operator", "--name NAME": "a name to show" },
    },
    mcp: {
      does: "lend PicoClaw's tools to another agent, as an MCP server; with a word, manage the MCP servers that PicoClaw itself calls",
      flags: {
        "add NAME URL": "call the tools of a server at an address, in every chat from now on",
        "add NAME -- COMMAND…": "the same of a program on this machine, started when it is needed",
        list: "the servers that are known, also from a trusted .mcp.json of the project",
        "test [NAME]": "connect to one or all of them and list their tools",
        "login NAME": "sign in to a server that asks for it, in a browser",
        "logout NAME": "forget that login",
        "remove NAME": "forget a server that was added",
        "--http PORT": "listen on 127.0.0.1 instead of stdio",
        "--header TEXT": `add: a header, e.g. "Authorization: Bearer \${TOKEN}"; several times`,
        "--env NAME=TEXT": "add: a variable of the program, e.g. TOKEN=env:TOKEN; several times",
        "--coders WHICH": "add: its tools for coders: off, read-only (default) or all",
        "--paste": "login: paste the address where the browser ended; for a browser on another machine",
      },
    },
    acp: { does: "an agent for editors (Zed, JetBrains, Neovim) over the Agent Client Protocol", flags: {} },
    env: {
      does: "task environments: prepare, exec, edit, list, info, cleanup, prune",
      flags: {
        "--task UUID": "the task (prepare, exec, edit, info, cleanup)",
        "--repo URL|PATH": "prepare: the repository",
        "--env NAME": "prepare: the environment (default: by the project's files)",
        "--branch B": "prepare: a branch, a tag, or refs/…",
        "--target B": "prepare: the branch it will be merged into, to compare with",
        "--timeout S": "exec: seconds before it is ended",
        "--cwd DIR": "exec: the folder to run in",
        "--session NAME": "exec: share folder and variables with earlier commands of that session",
        "-- COMMAND": "exec: the command",
        "--tool NAME": "edit: another tool than text_editor",
      },
    },
    images: {
      does: "build the images of environments",
      flags: {
        "--from IMAGE": "what they stand on; debian-rootfs makes it with debootstrap",
        "--again": "build even what is unchanged",
      },
    },
    serve: {
      does: "the web console, the HTTP API, webhooks and schedules",
      flags: {
        "--host ADDRESS": "the address to listen on",
        "--port N": "the port; 0 is any free one",
        "--demo": "a scripted model and a throw-away workspace",
        link: "make another link to sign in",
        "token create NAME": "make a token for the API",
        "token list": "the tokens there are",
        "token remove ID": "take a token away",
        "--user NAME": "whose link or token it is",
        "--role ROLE": "operator or user",
        "--scope LIST": "some of read,chat,jobs,mcp",
      },
    },
    join: {
      does: "one more machine, or one more process of this one, for the queue of a shared store",
      flags: {
        "--labels LIST":
          "what this machine has, for tasks that need it (docker and the architecture are known)",
        "--concurrency N": "messages, and tasks, at once",
      },
    },
    fleet: {
      does: "the machines that share the store, what waits, what was given up",
      flags: {
        "retry ID": "put given up work back, to the end of its chat",
        "discard ID": "forget given up work",
      },
    },
    run: {
      does: "carry out a task file: plan, worker CLI in a container, assess, until done",
      flags: {
        "--no-meta": "run the worker once, without a planning model",
        "--preview": "keep the changes staged (with --no-meta)",
        "--follow": "show every step as it comes",
        "--resume ID": "go on with a task that was interrupted",
        "--print-schema": "print the JSON Schema for editors",
      },
    },
    init: {
      does: "choose models from what this machine has, try them, and write a first configuration file",
      flags: {
        "--yes": "ask nothing; take the usual choice (talk stays on this machine)",
        "--force": "write it anew; the old file is kept beside it",
      },
    },
    config: { does: "the effective configuration, secrets masked; check it", flags: {} },
    trust: { does: "trust this folder's picoclaw.yaml, commands and skills", flags: {} },
    doctor: {
      does: "check this machine and say what helps",
      flags: { "--repair": "finish an interrupted commit" },
    },
    db: {
      does: "the store: its state; bring it up; copy it to a Postgres (address or env:NAME); forget a person (channel:user)",
      flags: {},
    },
    backup: { does: "write the store and the configuration into a new folder, while serving", flags: {} },
    restore: { does: "fill an empty store from such a folder", flags: {} },
    completion: { does: "completion for bash, zsh or fish: source <(picoclaw completion bash)", flags: {} },
    man: {
      does: "print the manual page, in your language",
      flags: { "| man -l -": "read it", "> picoclaw.1": "keep it, e.g. in ~/.local/share/man/man1" },
    },
    update: {
      does: "name the commands that bring this installation up to date; it changes nothing itself and contacts no server",
      flags: { "--json": "the version, its folder, how it was installed, and the commands" },
    },
    demo: { does: "a tour: fixes a failing test, then undoes rm -rf .git node_modules src", flags: {} },
  },
};

/** `mcp add|list|test|login|logout|remove`. */
export const mcpTexts = {
  usage:
    "picoclaw mcp add NAME URL [--header 'NAME: TEXT'] · mcp add NAME [--env NAME=TEXT] -- COMMAND ARGS… · mcp list · mcp test [NAME] · mcp login NAME [--paste] · mcp logout NAME · mcp remove NAME",
  none: "No MCP servers: picoclaw mcp add NAME URL, or a trusted .mcp.json in the project.",
  unknown: (name: string) => `There is no MCP server ${name}: picoclaw mcp list`,
  unusable: (server: string, detail: string) => `✗ ${server}: ${detail}`,
  works: (server: string, tools: readonly string[], readOnly: number) =>
    `✓ ${server}: ${tools.length} tools, ${readOnly} of them read-only: ${tools.join(", ")}`,
  notWeb: (address: string) =>
    `${address} is no address of an MCP server: it begins with http:// or https://.`,
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
  loginPaste: "Paste the address where the browser ended (its page may be an error): ",
  loginPage: {
    done: "You are logged in. You can close this window.",
    failed: "The login did not work. The terminal says why.",
  },
  loginEnd: {
    done: (name: string) => `Logged in to ${name}. Try it: picoclaw mcp test ${name}`,
    "not-needed": (name: string) => `${name} needs no login.`,
    "no-address": (name: string) => `${name} is a program. A login is for servers with an address.`,
    "has-header": (name: string) =>
      `${name} has an Authorization header already. Remove it to log in instead.`,
    "no-registration": (name: string) =>
      `${name} does not register clients by itself. Create an OAuth application there and set mcp_servers.${name}.oauth.client_id.`,
    "too-late": () => "Nobody logged in within five minutes. Nothing was saved.",
    stopped: () => "Stopped. Nothing was saved.",
    "bad-server": (name: string) =>
      `The login to ${name} did not work: its authorization server gives answers that cannot be used. Nothing was saved.`,
    silent: (name: string, seconds: string) =>
      `The login to ${name} did not work: no answer within ${seconds} seconds. Nothing was saved.`,
    denied: (name: string, reason: string) =>
      `The server refused the login to ${name}: ${reason}. Nothing was saved.`,
    "bad-paste": (name: string, address: string) =>
      `This is not the address of this login to ${name}. Paste the whole address where the browser ended; it begins with ${address} and has code= and state= in it. Nothing was saved; to begin again: picoclaw mcp login ${name} --paste`,
    failed: (name: string, detail: string) => `The login to ${name} did not work: ${detail}`,
  },
  loggedOut: (name: string) => `Logged out of ${name}.`,
  notLoggedIn: (name: string) => `No login of ${name} was saved.`,
};
