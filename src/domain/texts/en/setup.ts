import { many } from "../format-text.ts";

type KeptKey = Readonly<{ provider: string; file: string; models: number; newest: string | null }>;

type KeyOfAnother = Readonly<{ owner: string; provider: string; variable: string }>;

export const setupTexts = {
  file: {
    head: [
      "PicoClaw's configuration. Lines with # are examples and set nothing.",
      "Effective settings: picoclaw config show   Check this file: picoclaw config check",
    ],
    locale: ["PicoClaw's language: ja or en. If unset, that of the environment (LANG)."],
    roles: [
      "Who answers with which model. Mio (chat) and Shiro (worker) are local models unless",
      "security.local_only is false; Aka, Ao and Gin (coder1 to coder3) may be in the cloud.",
      "/code goes to default_coder.",
    ],
    login: [
      "The agent above uses your personal login. Its vendor's terms say whether another program may use it.",
    ],
    security: ["Whether conversations stay on this machine."],
    ollama: ["The address of the local models."],
    keys: ["API keys are not kept in this file: env:NAME names an environment variable."],
    github: ["The variable that holds the token for GitHub."],
    worker: ["Whether to commit before and after a job; which hosts commands may reach."],
    budget: ["What cloud models may cost per day, in US dollars."],
  },
  keysOpenToOthers: (file: string) =>
    `${file} is not used: it must be yours and readable by you alone. chmod 600 ${file}, or run picoclaw login again.`,
  login: {
    /** What is typed at these two questions is not shown: it may be the key. */
    which: (providers: readonly string[]) =>
      `Whose API key? A name (${providers.join(", ")}) or the key itself (not shown; Enter: none) `,
    offer: (providers: readonly string[]) =>
      `No model was found. Add an API key now? Paste it, or name its provider: ${providers.join(", ")} (not shown; Enter: no) `,
    whose: (providers: readonly string[]) =>
      `Several providers use keys of this form, so it was sent to none. Whose is it? (${providers.join(", ")}; Enter: none) `,
    unknown: (name: string, providers: readonly string[]) =>
      `${name === "" ? "No known provider was named" : `Unknown provider: ${name}`}. Known: ${providers.join(", ")}. Others are set in the configuration (docs/models.md).`,
    ask: (provider: string) => `API key for ${provider} (not shown): `,
    notAKey: "That is not an API key: one word of 8 to 400 characters. Nothing was kept.",
    nothingKept: "Nothing was kept.",
    ofAnother: ({ owner, provider, variable }: KeyOfAnother) =>
      `This key has the form of ${owner}'s keys, so it was not sent to ${provider}. Nothing was kept. If it is ${provider}'s: export ${variable}=…`,
    refused: (provider: string, address: string) => `${provider}: ${address} refuses this key.`,
    notKept: (why: string) => `The key was not kept.${why === "" ? "" : ` ${why}`}`,
    /** `newest`: that of its list that fits; null: the list is empty. */
    kept: ({ provider, file, models, newest }: KeptKey) =>
      `${provider} accepts the key and offers ${many(models, "model")}${newest === null ? "" : `, of which ${newest} is the newest that fits`}. The key is kept in ${file}, readable by you alone. An environment variable takes precedence over it.`,
    next: "Next: picoclaw init chooses the models and proposes the newest. Then: picoclaw chat",
    forgotten: (provider: string, file: string) => `The key of ${provider} is no longer in ${file}.`,
  },
  foundTitle: "Found on this machine:",
  written: (file: string) => `Wrote the configuration: ${file}`,
  oldKept: (file: string) => `The old file is kept: ${file}`,
  kept: (file: string) => `A configuration file already exists and was not changed: ${file}`,
  ollama: (baseUrl: string, models: readonly string[]) => `Ollama (${baseUrl}): ${models.join(", ")}`,
  noOllama: (baseUrl: string) =>
    `Ollama, which runs models on this machine, does not answer (${baseUrl}). Get it: https://ollama.com/download`,
  noModels: (baseUrl: string) => `Ollama (${baseUrl}) has no models yet. For example: ollama pull qwen3:8b`,
  /** `window`: the tokens that its one model takes; undefined: unknown. */
  source: (provider: string, models: number, window?: number) =>
    `${provider}: ${many(models, "model")}${window === undefined ? "" : ` with a window of ${window} tokens`}${window !== undefined && window < 8192 ? "; less than 8192 is too small for most work: start the server with --ctx-size 16384, then picoclaw init --force" : ""}`,
  sourceUnreachable: (provider: string, address: string) =>
    `${provider}: ${address} cannot be reached (no network, or the wrong address). The key was not tested.`,
  sourceRefused: (provider: string, address: string, variable: string | null) =>
    variable === null
      ? `${provider}: ${address} needs a key. If models answer there: export OPENAI_BASE_URL=${address} OPENAI_API_KEY=…, then picoclaw init`
      : `${provider}: ${address} refuses the key in ${variable}.`,
  sourceUnlisted: (provider: string, address: string, status: number) =>
    `${provider}: ${address} answered ${status} where its list of models was expected.`,
  head: (name: string, by: "key" | "file") =>
    `${name}: installed${by === "key" ? ", with a key" : " and logged in"}`,
  noKeys: (variables: readonly string[]) => `not set: ${variables.join(", ")}`,
  github: (variable: string) => `GitHub: ${variable}`,
  noGithub: "GitHub: neither GITHUB_PERSONAL_ACCESS_TOKEN nor GITHUB_TOKEN is set; solve needs one",
  noGit: "git is missing: auto-commit, tasks and solve need it",
  docker: (version: string) => `Docker ${version}`,
  noDocker: "Docker does not answer; env, run and solve need it",
  bubblewrap: (there: boolean): string =>
    there ? "bubblewrap" : "bubblewrap is missing: commands are not confined. sudo apt install bubblewrap",
  askHead: (name: string, by: "key" | "file") =>
    by === "key"
      ? `${name} is installed on this machine. Let it write code? [y/N] `
      : `${name} is logged in on this machine. Let it write code with your login? Its vendor's terms say whether you may. [y/N] `,
  askReplace: (file: string) => `${file} already exists. Replace it (the old file is kept)? [y/N] `,
  whoTalks: "Who answers questions?",
  whoCodes: "Who writes code?",
  modelWith: (name: string, notes: readonly string[]) =>
    notes.length === 0 ? name : `${name} (${notes.join(", ")})`,
  recommended: "recommended",
  recommendedCloud: "recommended: no local model found",
  localLater: "a local model only: questions stay off until there is one",
  /** Shown whenever a cloud model is offered for questions. */
  cloudMeans:
    "A cloud model receives your questions and everything that is read to answer them, and costs money. A local model keeps them on this machine. Either way, code goes to the coder you choose next.",
  inTheCloud: "cloud",
  more: (count: number) => `and ${count} more: type a name`,
  askModel: (best: string) => `Number or name (Enter: ${best}, - for none): `,
  noSuchModel: (name: string) => `There is no model ${name}.`,
  testing: "\nSending one test message to each …",
  answered: (name: string, answer: string, ms: number) =>
    `${name} answers: ${JSON.stringify(answer)} (${(ms / 1000).toFixed(1)} s)`,
  silent: (name: string, why: string) => `${name} does not answer: ${why}`,
  askAgain: "Choose another one? n leaves it out. [Y/n] ",
  nobodyTalks:
    "Questions are off: there is no local model, and a cloud model answers only if you allow it. Coding works (/code). To let your coder's model answer questions too: picoclaw chat /cloud on",
  nothing: [
    "No model answers, so nothing was written. Two ways:",
    "  1. a local model: install Ollama (https://ollama.com/download), ollama pull qwen3:8b, picoclaw init",
    "  2. a cloud model: picoclaw login (or export ANTHROPIC_API_KEY=…, OPENAI_, GEMINI_, DEEPSEEK_, OPENROUTER_API_KEY), picoclaw init",
  ],
  nothingFor: "No model answers, so nothing was written. The reason:",
  nothingTested: "None of the chosen models answers, so nothing was written.",
  thenAgain: "Once that is solved: picoclaw init",
  /** The console's first page. */
  page: {
    title: "Connect your models",
    lead: "Four steps: see what this machine has, choose who answers questions, choose who writes code, and send each a test message.",
    lookAgain: "Look again",
    choose: "Choose",
    noModel: "none",
    askCloud:
      "May a cloud model answer questions? It receives them and everything that is read to answer them. Either way, code goes to the coder you choose.",
    keep: "No, local models only",
    allow: "Yes, allow the cloud",
    tryAndSave: "Test and save",
    nothingWritten: "Nothing was written. Choose another one, or none.",
    begin: "Start",
    more: "More settings",
    skip: "Not now",
  },
  demo: {
    project: (folder: string) => `A small project with a failing test: ${folder}`,
    fix: "Fix the failing test",
    rash: "Now a command that you never want to see run:",
    lost: (files: number) => `Applied: ${files} files are gone, the repository's history among them`,
    back: (files: number) => `Undone: all ${files} files are back, byte for byte`,
    notBack: "The files are not as they were.",
    connect: "That was a demo with prepared answers. Connect your model: picoclaw init",
  },
  update: {
    current: (version: string, folder: string) =>
      `PicoClaw ${version} in ${folder}. To install a newer version:`,
    commands: {
      checkout: ["git pull && npm ci"],
      npm: ["npm install --global picoclaw-VERSION.tgz    (the package of the newer release)"],
      npx: ["npx picoclaw@latest    (npx keeps nothing installed)"],
      "one-file": [
        "Check the file of the newer release against SHA256SUMS, then replace the old file with it.",
        "With Homebrew: brew upgrade picoclaw",
      ],
      image: ["docker compose pull && docker compose up --detach    (or build the image again)"],
    },
    after: "Then restart picoclaw serve. Jobs, chats and settings are kept. CHANGELOG.md lists what changed.",
  },
  uninstall: {
    current: (version: string, folder: string) => `PicoClaw ${version} in ${folder}. To remove it:`,
    commands: {
      checkout: (folder: string) => [`Delete the folder ${folder}`],
      npm: () => ["npm uninstall --global picoclaw"],
      npx: () => ["npm cache clean --force    (npx keeps its copies in npm's cache)"],
      "one-file": (folder: string) => [
        `Delete the folder ${folder} and the file that you start as picoclaw`,
        "With Homebrew: brew uninstall picoclaw",
      ],
      image: () => ["docker compose down    (with --volumes, its data too)"],
    },
    data: (home: string) =>
      `Settings, chats and the undo of every job stay in ${home}.\nIf you delete that folder, no job can be undone any more.`,
  },
  next: (command: string) => `Try next: ${command}`,
  hello: "Hello",
  firstChange: "/code write a greeting to hello.txt",
};
