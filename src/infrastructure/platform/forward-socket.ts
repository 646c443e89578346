/**
 * Carries connections from one socket to another with the runtime's own sockets.
 * In: where to listen, and where each connection leads. Out: the server. Invariant: `node:net` is not loaded, which costs more
 * processor time than all else that a command needs of a network it does not use; each direction ends by itself, and no side that
 * is slow makes this process hold more than one piece of what the other sends.
 */
import type { Socket, SocketHandler } from "bun";

/** One side of a connection. */
interface Side {
  socket: Socket<Side> | null;
  other: Side;
  /** What this side could not take yet. */
  pending: Uint8Array[];
  /** The other side sends no more. */
  isLast: boolean;
  /** The other side is gone: this one goes when it has taken what is pending. */
  isLeft: boolean;
}

type ListenPlace = { readonly hostname: string; readonly port: number } | { readonly unix: string };

export type SocketForwarder = ReturnType<typeof forwardSocket>;

/** Throws the system's error when it cannot listen there. `target`: the path of the socket that a connection leads to. */
export function forwardSocket(at: ListenPlace, target: () => Promise<string> | string) {
  const clients = new Set<Socket<Side>>();
  const server = Bun.listen<Side>({
    ...(at as { hostname: string; port: number }),
    allowHalfOpen: true,
    socket: {
      ...HANDLERS,
      open(socket) {
        const [client, upstream] = sides();
        client.socket = socket;
        socket.data = client;
        clients.add(socket);
        // What it sends before the other side is there stays with the kernel.
        socket.pause();
        void connectTo(target, upstream);
      },
      close(socket) {
        clients.delete(socket);
        leave(socket.data);
      },
    },
  });
  return {
    port: server.port,
    /** Ends it and every connection through it. */
    close(): void {
      server.stop(true);
      for (const socket of clients) socket.terminate();
    },
  };
}

function sides(): readonly [Side, Side] {
  const side = () => ({ socket: null, pending: [], isLast: false, isLeft: false }) as unknown as Side;
  const [one, other] = [side(), side()];
  one.other = other;
  other.other = one;
  return [one, other];
}

async function connectTo(target: () => Promise<string> | string, upstream: Side): Promise<void> {
  try {
    const unix = await target();
    if (upstream.isLeft) return;
    upstream.socket = await Bun.connect<Side>({
      unix,
      allowHalfOpen: true,
      data: upstream,
      socket: HANDLERS,
    });
    deliver(upstream);
  } catch {
    upstream.other.socket?.terminate();
  }
}

const HANDLERS: SocketHandler<Side> = {
  data({ data: from }, bytes) {
    from.other.pending.push(bytes);
    deliver(from.other);
  },
  drain: ({ data }) => deliver(data),
  end({ data }) {
    data.other.isLast = true;
    deliver(data.other);
  },
  close: ({ data }) => leave(data),
  error: ({ data }) => data.other.socket?.terminate(),
};

function leave({ other }: Side): void {
  other.isLeft = true;
  deliver(other);
}

/** Gives a side what is pending for it; the side from which it comes waits meanwhile. */
function deliver(to: Side): void {
  const { socket, other } = to;
  if (socket === null) return;
  for (let piece = to.pending[0]; piece !== undefined; piece = to.pending[0]) {
    const taken = Math.max(socket.write(piece), 0);
    if (taken < piece.length) {
      // The runtime may use the memory of a piece again.
      to.pending[0] = piece.slice(taken);
      if (!to.isLeft) other.socket?.pause();
      return;
    }
    to.pending.shift();
  }
  if (to.isLeft) socket.end();
  else if (to.isLast) socket.shutdown();
  else other.socket?.resume();
}
