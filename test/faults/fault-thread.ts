/** The thread of a limited job, in which no caller catches an error as soon as the file `FAULT_WHEN` exists. */
import { existsSync } from "node:fs";
import "../../src/wiring/limited.ts";

setInterval(() => {
  if (existsSync(process.env.FAULT_WHEN ?? ""))
    throw new TypeError("undefined is not an object (evaluating 'e.t.injected')");
}, 20);
