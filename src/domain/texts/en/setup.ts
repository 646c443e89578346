export const texts = {
  file: {
    head: [
      "PicoClaw's configuration. Lines with # are examples and set nothing.",
      "What holds now: picoclaw config show   Check this file: picoclaw config check",
    ],
    locale: ["The language PicoClaw speaks: ja or en. Unset: as the environment says."],
    roles: [
      "Who answers with which model. Mio (chat) and Shiro (worker) are always local models;",
      "Aka, Ao and Gin (coder1 to coder3) may be in the cloud. /code goes to default_coder.",
    ],
    ollama: ["Where the local models are."],
    keys: ["API keys cannot stand in a file: env:NAME refers to a variable of the environment."],
    worker: ["Whether to commit before and after a job; which hosts commands may reach."],
    budget: ["What cloud models may cost a day, in US dollars."],
  },
  written: (file: string) => `Wrote the configuration: ${file}`,
  kept: (file: string) => `The configuration is there already and was not touched: ${file}`,
  ollama: (baseUrl: string, models: readonly string[]) => `Ollama (${baseUrl}): ${models.join(", ")}`,
  noOllama: (baseUrl: string) =>
    `Ollama is not reachable (${baseUrl}). Conversations need a local model: https://ollama.com/download`,
  noModels: (baseUrl: string) => `Ollama (${baseUrl}) has no models. For example: ollama pull qwen3:8b`,
  key: (variable: string, there: boolean) => (there ? `${variable} is set` : `${variable} is not set`),
  docker: (version: string) => `Docker ${version}`,
  noDocker: "Docker is not reachable. env, run and solve need it.",
  bubblewrap: (there: boolean): string =>
    there ? "bubblewrap" : "bubblewrap is missing: commands are not confined. sudo apt install bubblewrap",
  modelMissing: (model: string) => `The configured model is not there: ${model} → ollama pull ${model}`,
  next: (command: string) => `Try next: ${command}`,
  /** A message that is worth trying first. */
  hello: "Hello",
  firstChange: "/code write a greeting to hello.txt",
};
