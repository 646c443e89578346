import { endPartOnFault } from "../infrastructure/platform/process-faults.ts";
import { type ExecutorSettings, serveView } from "../infrastructure/sandbox/executor.ts";

/** Started inside a view by the sandbox. */
endPartOnFault("executor");
const told = JSON.parse(process.argv[2] ?? "") as ExecutorSettings;
const setUpBy = process.argv[3];
process.env.PATH = told.path;
void serveView(told, setUpBy === undefined ? null : Number(setUpBy));
