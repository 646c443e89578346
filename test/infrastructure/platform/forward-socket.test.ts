import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forwardSocket, type SocketForwarder } from "../../../src/infrastructure/platform/forward-socket.ts";

const LOOPBACK = { hostname: "127.0.0.1", port: 0 };
let close: (() => void) | null = null;
afterEach(() => close?.());

/** A forwarder to a socket at which `serve` answers; `at`: where the forwarder listens in the folder, default a port. */
async function forward(serve: (socket: net.Socket) => void, at?: string) {
  const folder = mkdtempSync(join(tmpdir(), "forward-"));
  const path = join(folder, "behind");
  const server = net.createServer({ allowHalfOpen: true }, serve);
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  const place = at === undefined ? LOOPBACK : { unix: join(folder, at) };
  const forwarder: SocketForwarder = forwardSocket(place, async () => path);
  close = () => {
    forwarder.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
    close = null;
  };
  const open = (): net.Socket =>
    net.connect(
      at === undefined
        ? { host: "127.0.0.1", port: Number(forwarder.port), allowHalfOpen: true }
        : { path: join(folder, at), allowHalfOpen: true },
    );
  return { open, server, forwarder };
}

function readAll(socket: net.Socket): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on("data", (bytes) => pieces.push(bytes as Buffer));
  socket.on("error", () => {});
  return new Promise((resolve) => {
    const end = () => resolve(Buffer.concat(pieces));
    socket.once("end", end);
    socket.once("close", end);
  });
}

const echo = (socket: net.Socket) => void socket.pipe(socket);

test("an answer that comes after the end of a request arrives", async () => {
  const { open } = await forward((socket) => {
    void readAll(socket).then((bytes) => socket.end(`got ${bytes}`));
  });
  const client = open();
  const answer = readAll(client);
  client.end("hello");
  expect(String(await answer)).toBe("got hello");
});

test("every byte of a large body arrives in its order, both ways", async () => {
  const { open } = await forward(echo, "front");
  const sent = Buffer.alloc(16 << 20);
  for (let at = 0; at < sent.length; at += 4) sent.writeUInt32LE(at, at);
  const client = open();
  const answer = readAll(client);
  client.end(sent);
  expect((await answer).equals(sent)).toBe(true);
});

test("a side that reads nothing holds the other back, and gets all when it reads", async () => {
  const arrived = Promise.withResolvers<net.Socket>();
  const { open } = await forward((socket) => {
    socket.pause();
    arrived.resolve(socket);
  });
  const client = open();
  const slow = await arrived.promise;
  const sent = Buffer.alloc(64 << 20, "x");
  client.end(sent);
  // What kernel and forwarder take at most: a round trip through another connection is time for both to take it.
  const other = open();
  await new Promise<void>((resolve) => other.once("connect", () => resolve()));
  expect(client.writableLength).toBeGreaterThan(sent.length / 2);
  const got = readAll(slow);
  slow.resume();
  expect((await got).length).toBe(sent.length);
  slow.end();
  client.destroy();
  other.destroy();
});

test("the end of a side is the end of the other, and a target that is gone ends the client", async () => {
  const { open, server } = await forward((socket) => {
    socket.write("x");
    socket.destroySoon();
  });
  expect(String(await readAll(open()))).toBe("x");
  await new Promise((resolve) => server.close(resolve));
  const client = open();
  client.write("unread");
  expect(String(await readAll(client))).toBe("");
});

test("300 connections at once each get their own answer", async () => {
  const { open } = await forward((socket) => void socket.once("data", (bytes) => socket.end(bytes)));
  const answers = Array.from({ length: 300 }, async (_, n) => {
    const client = open();
    client.write(`n${n}`);
    return String(await readAll(client));
  });
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 300 }, (_, n) => `n${n}`));
});

test("its end is the end of its connections", async () => {
  const { open, forwarder } = await forward(echo);
  const client = open();
  client.write("a");
  await new Promise((resolve) => client.once("data", resolve));
  const ended = readAll(client);
  forwarder.close();
  await ended;
  expect(true).toBe(client.readableEnded || client.destroyed || client.closed);
});
