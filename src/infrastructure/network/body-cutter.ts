import type { Framing } from "./request-head.ts";

/**
 * Lets through exactly one body: `take` returns the part of these bytes that belongs to it, and says when it has
 * ended. What follows is another request, which nobody has judged.
 */
export interface BodyCutter {
  take(bytes: Buffer): { readonly body: Buffer; readonly ended: boolean; readonly broken: boolean };
}

const LONGEST_LINE = 8192;

export function createBodyCutter(framing: Framing): BodyCutter {
  return framing.kind === "chunked" ? chunked() : counted(framing.kind === "length" ? framing.bytes : 0);
}

function counted(total: number): BodyCutter {
  let left = total;
  return {
    take(bytes) {
      const body = bytes.subarray(0, left);
      left -= body.length;
      return { body, ended: left === 0, broken: false };
    },
  };
}

/** Follows the chunks without changing them; a trailer section ends with its empty line. */
function chunked(): BodyCutter {
  let state: "size" | "data" | "data-end" | "trailer" | "ended" = "size";
  let left = 0;
  let line = "";
  return {
    take(bytes) {
      let at = 0;
      const broken = { body: bytes.subarray(0, 0), ended: false, broken: true };
      while (at < bytes.length && state !== "ended") {
        if (state === "data") {
          const step = Math.min(left, bytes.length - at);
          at += step;
          left -= step;
          if (left === 0) state = "data-end";
          continue;
        }
        const end = bytes.indexOf(0x0a, at);
        line += bytes.toString("latin1", at, end === -1 ? bytes.length : end + 1);
        at = end === -1 ? bytes.length : end + 1;
        if (line.length > LONGEST_LINE) return broken;
        if (end === -1) continue;
        if (!/^[^\r\n\0]*\r\n$/.test(line)) return broken;
        const text = line.slice(0, -2);
        line = "";
        if (state === "size") {
          const [, size] = /^([0-9a-fA-F]{1,12})(?:[ \t]*;.*)?$/.exec(text) ?? [];
          if (size === undefined) return broken;
          left = Number.parseInt(size, 16);
          state = left === 0 ? "trailer" : "data";
        } else if (state === "data-end") {
          if (text !== "") return broken;
          state = "size";
        } else if (text === "") state = "ended";
      }
      return { body: bytes.subarray(0, at), ended: state === "ended", broken: false };
    },
  };
}
