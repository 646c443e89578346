import { openSync } from "node:fs";
import { tryFlock } from "../../../src/infrastructure/platform/libc.ts";

/** Any program that locks a folder for itself, says its number, and keeps it. */
tryFlock(openSync(process.argv[2] as string, "r"));
process.stdout.write(`${process.pid}\n`);
setInterval(() => {}, 60_000);
