import { endPartOnFault } from "../infrastructure/platform/process-faults.ts";
import { type ExecutorSettings, serveView } from "../infrastructure/sandbox/executor.ts";

/** Started inside a view by the sandbox. */
endPartOnFault("executor");
const settings = JSON.parse(process.argv[2] ?? "") as ExecutorSettings;
const setUpBy = process.argv[3];
process.env.PATH = settings.path;
void serveView(settings, setUpBy === undefined ? null : Number(setUpBy));
