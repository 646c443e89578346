import { type Entry, type View, ViewFault, type ViewFaultCode } from "../../application/ports/view.ts";
import { type Call, encodeFrame, type Frame, readFrame, writeFrame } from "./frames.ts";
import { restoreHere } from "./restore.ts";

export function createCall(requests: number, answers: number): Call {
  return (head, body) => {
    writeFrame(requests, encodeFrame(head, body));
    const answer = readFrame(answers);
    const fault = answer.head.fault as { code: ViewFaultCode; path: string; message: string } | undefined;
    if (fault !== undefined) throw new ViewFault(fault.code, fault.path, fault.message);
    if (typeof answer.head.bug === "string") throw new Error(answer.head.bug);
    return answer;
  };
}

/** The files of a view that only the executor inside it can see. */
export function createRemoteView(call: Call): View {
  return {
    look: (path) => call({ op: "look", path }).head.entry as Entry,
    read: (path) => call({ op: "read", path }).body,
    write: (path, bytes, mode) =>
      void call({ op: "write", path, ...(mode !== undefined && { mode }) }, bytes),
    makeSymlink: (path, target) => void call({ op: "makeSymlink", path, target }),
    makeDirectory: (path) => void call({ op: "makeDirectory", path }),
    remove: (path) => void call({ op: "remove", path }),
    rename: (from, to) => void call({ op: "rename", path: from, to }),
    copy: (from, to) => void call({ op: "copy", path: from, to }),
    list: (path) => call({ op: "list", path }).head.names as string[],
  };
}

/** The executor's side of `createRemoteView`. */
export function answerViewCall(view: View, { head, body }: Frame): Uint8Array {
  const path = String(head.path);
  const to = String(head.to);
  try {
    switch (head.op) {
      case "look":
        return encodeFrame({ entry: view.look(path) });
      case "read":
        return encodeFrame({}, view.read(path));
      case "list":
        return encodeFrame({ names: view.list(path) });
      case "write":
        view.write(path, body, head.mode as number | undefined);
        break;
      case "makeSymlink":
        view.makeSymlink(path, String(head.target));
        break;
      case "makeDirectory":
        view.makeDirectory(path);
        break;
      case "remove":
        view.remove(path);
        break;
      case "rename":
        view.rename(path, to);
        break;
      case "copy":
        view.copy(path, to);
        break;
      case "restore":
        restoreHere(head, body);
        break;
      default:
        return encodeFrame({ bug: `unknown call: ${String(head.op)}` });
    }
    return encodeFrame({});
  } catch (error) {
    if (error instanceof ViewFault)
      return encodeFrame({ fault: { code: error.code, path: error.path, message: error.message } });
    return encodeFrame({ bug: (error as Error).stack ?? String(error) });
  }
}
