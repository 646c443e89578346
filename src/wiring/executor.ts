import { serveView } from "../infrastructure/overlay/executor.ts";

/** Started inside a view by the sandbox, with the folder it serves and the PATH of the user. */
process.env.PATH = process.argv[3] as string;
serveView(process.argv[2] as string);
