/** `greet-child.ts TEXT PATH|@NAME|PORT…`: greets every client of any of these sockets, and prints `ready PORT…`. */
import { createServer } from "node:net";

const [text = "", ...places] = process.argv.slice(2);
const ports: number[] = [];
for (const place of places) {
  const server = createServer((socket) => socket.end(text));
  const at = /^\d+$/.test(place)
    ? { port: Number(place), host: "127.0.0.1" }
    : { path: place.replace(/^@/, "\0") };
  await new Promise<void>((resolve) => server.listen(at, resolve));
  const address = server.address();
  if (typeof address === "object" && address !== null) ports.push(address.port);
}
console.log(`ready ${ports.join(" ")}`);
