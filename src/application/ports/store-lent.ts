/** One statement of a hand. The statements of a transaction share a connection's number. */
export interface StoreQuestion {
  readonly id: number;
  readonly connection: number;
  /** `commit` and `rollback` end the transaction. */
  readonly text: string;
  readonly parameters: readonly unknown[];
  readonly within: "none" | "begun" | "first";
}

export interface StoreAnswer {
  readonly id: number;
  readonly rows?: readonly unknown[];
  readonly changes?: number;
  readonly failure?: { readonly message: string; readonly away?: string; readonly code?: unknown };
}

/** The store of the front, as one hand uses it. */
export interface LentStore {
  answer(question: StoreQuestion): Promise<StoreAnswer>;
  /** Takes back what was not committed, and begins nothing more until the hand is heard of. */
  takeBack(): Promise<void>;
  hear(): void;
  /** The same, once the hand is gone. */
  close(): Promise<void>;
  /** Whether a transaction of the hand waits for its next statement. */
  isOpen(): boolean;
}
