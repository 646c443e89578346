import { serveView } from "../infrastructure/overlay/executor.ts";

/** Started inside a view by the sandbox, with the folder it serves, the PATH of the user and perhaps a proxy's socket. */
process.env.PATH = process.argv[3] as string;
void serveView(process.argv[2] as string, process.argv[4]);
