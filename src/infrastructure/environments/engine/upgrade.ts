import type { SandboxFailure } from "../../../application/ports/sandbox.ts";
import type { RawConnection, RawHandlers } from "../../runtime/engine-connection.ts";
import { failed, fromStatus } from "./failures.ts";

const END_OF_HEAD = Buffer.from("\r\n\r\n");

/**
 * Asks the engine to turn an HTTP connection into the streams of an exec. Engines answer 101, older ones 200; after
 * the head come the streams. Closing the connection later does not end the process: somebody inside must.
 */
export function upgrade(
  open: (handlers: RawHandlers) => Promise<RawConnection>,
  { path, body }: { readonly path: string; readonly body: object },
  handlers: RawHandlers,
  signal: AbortSignal,
): Promise<RawConnection | SandboxFailure> {
  const { promise, resolve, reject } = Promise.withResolvers<RawConnection | SandboxFailure>();
  const state = { head: Buffer.alloc(0), status: 0, upgraded: false };
  const own: { connection?: RawConnection } = {};
  const give = (bytes: Uint8Array) => {
    if (state.upgraded) return handlers.onBytes(bytes);
    state.head = Buffer.concat([state.head, bytes]);
    const end = state.head.indexOf(END_OF_HEAD);
    if (end < 0) return;
    state.status = Number(/^HTTP\/1\.\d (\d{3})/.exec(state.head.toString("latin1"))?.[1] ?? 0);
    if (state.status !== 101 && state.status !== 200) {
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(state.head.toString("latin1"))?.[1] ?? 0);
      if (state.head.length >= end + END_OF_HEAD.length + length) refuse();
      return;
    }
    state.upgraded = true;
    signal.removeEventListener("abort", onAbort);
    if (own.connection) resolve(own.connection);
    const rest = state.head.subarray(end + END_OF_HEAD.length);
    if (rest.length > 0) handlers.onBytes(rest);
  };
  const refuse = () => {
    signal.removeEventListener("abort", onAbort);
    own.connection?.close();
    const text = state.head.toString();
    const message = text.slice(text.indexOf("\r\n\r\n") + 4).replace(/^.*"message":"([^"]*)".*$/s, "$1");
    resolve(fromStatus(state.status, message.trim(), path));
  };
  const onAbort = () => {
    own.connection?.close();
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  open({
    onBytes: give,
    onClose(error) {
      if (state.upgraded) return handlers.onClose(error);
      if (state.status > 0) return refuse();
      signal.removeEventListener("abort", onAbort);
      resolve(failed("disconnected", "the engine hung up", error));
    },
  }).then((connection) => {
    if (signal.aborted) return connection.close();
    own.connection = connection;
    const payload = Buffer.from(JSON.stringify(body));
    connection.write(
      Buffer.concat([
        Buffer.from(
          `POST ${path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${payload.length}\r\n\r\n`,
        ),
        payload,
      ]),
    );
  }, reject);
  return promise;
}
