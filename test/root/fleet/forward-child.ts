/** `forward-child.ts PORT SOCKET`: a port of this loopback leads to a socket, whichever network that was made in. */
import { connect, createServer } from "node:net";

const [port = "", socket = ""] = process.argv.slice(2);
createServer((near) => {
  const far = connect(socket);
  near.pipe(far).pipe(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const)
    one.on("error", () => other.destroy()).on("close", () => other.destroy());
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
