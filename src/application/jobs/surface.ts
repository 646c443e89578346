/** Where commands are given: `picoclaw undo …`, or `/undo …`. */
export type Surface = "terminal" | "chat";
