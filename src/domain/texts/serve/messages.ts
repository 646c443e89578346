/** What `serve` says to people: in chats, on the terminal. */
export interface ServeMessages {
  /** The process died while it worked on a message that had changed something by then. */
  /** `undo`: the message that takes it back, where that can be. */
  readonly interrupted: (jobIds: readonly string[], undo: string | null) => string;
  /** It died several times over the same message. */
  readonly gaveUp: (attempts: number) => string;
  readonly tooLong: (limitChars: number) => string;
  readonly stranger: string;
  readonly tooMany: string;
  readonly attachment: (name: string, sizeBytes: number) => string;
  // On the terminal.
  readonly listening: (url: string) => string;
  readonly loginLink: (url: string) => string;
  readonly loginLinkNote: string;
  readonly demoLinkNote: string;
  readonly demo: readonly string[];
  readonly stopping: string;
  readonly stoppingHard: string;
  readonly reloaded: string;
  readonly reloadRefused: (why: string) => string;
  readonly portTaken: (address: string, why: string) => string;
  readonly exposed: (host: string) => string;
  readonly usage: string;
  readonly tokenCreated: (token: string) => string;
  /** What a stranger is told. */
  readonly pairing: (code: string) => string;
  readonly pairUsage: string;
  readonly pairWaiting: string;
  readonly nobodyPaired: string;
  readonly personAdded: (who: string, role: string) => string;
  readonly personRemoved: (who: string) => string;
  readonly personUnknown: (who: string) => string;
  readonly codeUnknown: (code: string) => string;
  readonly tokenRemoved: (id: string) => string;
  readonly tokenUnknown: (id: string) => string;
  readonly noTokens: string;
  readonly badScope: (scope: string, known: string) => string;
  readonly badUser: (user: string) => string;
  readonly badRole: (role: string) => string;
  readonly scheduleUnknownChannel: (name: string, channel: string) => string;
}
