import { join } from "node:path";

/** A PATH on which `npm test` runs the project's script at once. Where npm itself matters, tests keep the real one. */
export const QUICK_NPM_PATH = `${join(import.meta.dir, "quick-npm")}:${process.env.PATH ?? ""}`;

/** And `node --test` at once too. Where Node itself matters, as for forged output, tests keep the real one. */
export const QUICK_NODE_PATH = `${join(import.meta.dir, "quick-node")}:${QUICK_NPM_PATH}`;
