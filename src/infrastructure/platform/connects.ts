/** Whether a TCP connection to the host of a URL comes about. False when it is refused or given up. */
export async function canConnect(url: string, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (signal.aborted) return false;
  signal.addEventListener("abort", () => resolve(false), { once: true });
  void Bun.connect({
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    socket: {
      open: (socket) => {
        socket.end();
        resolve(true);
      },
      data: () => {},
      connectError: () => resolve(false),
    },
  }).catch(() => resolve(false));
  return promise;
}
