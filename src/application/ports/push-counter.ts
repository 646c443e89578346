/** Messages that a service counts and charges, by calendar month (`2026-11`). Kept over restarts. */
export interface PushCounter {
  used(channel: string, month: string): Promise<number>;
  add(channel: string, month: string, count: number): Promise<void>;
}
