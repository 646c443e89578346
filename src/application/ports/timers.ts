/** Time as an input: what waits asks here, so that a test need not. */
export interface Timers {
  now(): Date;
  /** Calls back once, not before that many milliseconds; the answer cancels it. Never keeps the process alive alone. */
  after(ms: number, callback: () => void): () => void;
}
