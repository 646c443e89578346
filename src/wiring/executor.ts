import { type ExecutorSettings, serveView } from "../infrastructure/sandbox/executor.ts";

/** Started inside a view by the sandbox. */
const told = JSON.parse(process.argv[2] as string) as ExecutorSettings;
const setUpBy = process.argv[3];
process.env.PATH = told.path;
void serveView(told, setUpBy === undefined ? null : Number(setUpBy));
