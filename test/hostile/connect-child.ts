/** `connect-child.ts PATH|@NAME|HOST:PORT`: prints what the socket says first, or why it cannot be reached. */
import { connect } from "node:net";

const [target = ""] = process.argv.slice(2);
const [host, port] = target.split(":");
const socket =
  port === undefined
    ? connect({ path: target.startsWith("@") ? `\0${target.slice(1)}` : target })
    : connect({ host: host as string, port: Number(port) });
socket.setTimeout(3000, () => process.exit(4));
socket.on("data", (data) => {
  console.log(String(data));
  process.exit(0);
});
socket.on("error", (error) => {
  console.log(`unreachable: ${(error as { code?: string }).code ?? error.message}`);
  process.exit(3);
});
