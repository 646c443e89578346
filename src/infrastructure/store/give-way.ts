import type { KyselyPlugin } from "kysely";

/**
 * The embedded store answers without ever leaving the event loop's current turn, so chats that only talk to it could
 * keep everybody else (a webhook that is to be acknowledged) waiting for as long as they have work. With this plugin a
 * query that ends a long turn lets the loop look at what has come in.
 */
export function createGiveWay(
  turnMs: number,
  clock: () => number = performance.now.bind(performance),
): KyselyPlugin {
  let since = clock();
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (clock() - since >= turnMs) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        since = clock();
      }
      return result;
    },
  };
}
