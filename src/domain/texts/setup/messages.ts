/** What `init` says, and the comments of the file it writes. */
export interface SetupMessages {
  readonly file: {
    readonly head: readonly string[];
    readonly locale: readonly string[];
    readonly roles: readonly string[];
    readonly ollama: readonly string[];
    readonly keys: readonly string[];
    readonly worker: readonly string[];
    readonly budget: readonly string[];
  };
  written(file: string): string;
  kept(file: string): string;
  ollama(baseUrl: string, models: readonly string[]): string;
  noOllama(baseUrl: string): string;
  noModels(baseUrl: string): string;
  key(variable: string, there: boolean): string;
  docker(version: string): string;
  readonly noDocker: string;
  bubblewrap(there: boolean): string;
  modelMissing(model: string): string;
  next(command: string): string;
  /** A message that is worth trying first. */
  readonly hello: string;
  readonly firstChange: string;
}
