/** The largest body that a server takes in, of a webhook or of anybody else. */
export const LARGEST_BODY_BYTES = 10 * 1024 ** 2;

/** Where a service posts to, under `/webhooks/<name>`. Nobody is known before the whole body was read and verified. */
export interface Webhook {
  /** The header that carries the signature: a request without it is refused before its body is read. */
  readonly signedBy: string;
  /** More than this is refused, at once where the length is told. */
  readonly limitBytes: number;
  /** Verifies the signature, then acts. The body was read already. */
  readonly answer: (request: Request) => Promise<Response>;
}
