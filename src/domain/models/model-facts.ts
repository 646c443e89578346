/** The facts of a model's failure that its text names. */
export interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  /** The server's host and port, or the script. */
  readonly address: string;
  /** What the server said, masked and cut; of a limit, its seconds. */
  readonly detail: string;
  /** How long the server asks to be left alone. */
  readonly waitSeconds?: number;
}
