import { serveView } from "../infrastructure/overlay/executor.ts";

/** Started inside a view by the sandbox; its only argument is the folder it serves. */
serveView(process.argv[2] as string);
