/**
 * Works on a bench as a process of its own: `crash-child.ts FOLDER ACTION JOB POINT SIGNAL WORKSPACE`. It kills itself without any
 * farewell, or stops itself, at checkpoint number POINT (never with 0), and prints the checkpoints it passed, one a line.
 */
import { writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { locateStorage } from "../../src/infrastructure/platform/workspace-storage.ts";
import { openTransactions } from "../contracts/transaction-bench.ts";

const [folder = "", action = "", jobId = "", point = "0", signal = "SIGKILL", place = "ws"] =
  process.argv.slice(2);
const home = join(folder, "home");
const workspace = join(folder, place);
let passed = 0;
const transactions = openTransactions(locateStorage(workspace, home, workspace), home, {
  checkpoint(name) {
    if (action === "commit-with-a-late-save" && name === "intent")
      writeFileSync(join(workspace, "edited.txt"), "saved in the last instant\n");
    passed += 1;
    writeSync(1, `${name}\n`);
    if (passed === Number(point)) process.kill(process.pid, signal as NodeJS.Signals);
  },
});

function act() {
  switch (action) {
    case "repair":
      return transactions.repair();
    case "undo":
      return transactions.undo(jobId, { force: false });
    case "redo":
      return transactions.redo(jobId, { force: false });
    default:
      return transactions.commit(jobId);
  }
}

void act().then((told) => writeSync(2, JSON.stringify(told)));
