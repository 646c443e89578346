/** What a person did at the keyboard. */
export type Key =
  | { readonly kind: "text"; readonly text: string }
  /** A paste, its line ends made one. */
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: KeyName };

export type KeyName =
  | "enter"
  | "newline"
  | "tab"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "word-left"
  | "word-right"
  | "kill-end"
  | "kill-start"
  | "kill-word"
  | "clear"
  | "interrupt"
  | "eof"
  | "escape";

const CONTROLS: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "newline",
  "\t": "tab",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x01": "home",
  "\x02": "left",
  "\x03": "interrupt",
  "\x04": "eof",
  "\x05": "end",
  "\x06": "right",
  "\x0b": "kill-end",
  "\x0c": "clear",
  "\x0e": "down",
  "\x10": "up",
  "\x15": "kill-start",
  "\x17": "kill-word",
};

const SEQUENCES: Readonly<Record<string, KeyName>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  "[H": "home",
  "[F": "end",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[3~": "delete",
  "[1;5D": "word-left",
  "[1;5C": "word-right",
  "[1;3D": "word-left",
  "[1;3C": "word-right",
  b: "word-left",
  f: "word-right",
  "\x7f": "kill-word",
  "\r": "newline",
  "\n": "newline",
};

const PASTE_BEGINS = "\x1b[200~";
const PASTE_ENDS = "\x1b[201~";

/** Reads a terminal's bytes: characters, control keys, escape sequences and pastes, however they are cut into pieces. */
export function createKeyReader(onKey: (key: Key) => void) {
  const decoder = new TextDecoder();
  let pending = "";

  const step = (): boolean => {
    if (pending.startsWith(PASTE_BEGINS)) {
      const end = pending.indexOf(PASTE_ENDS);
      if (end === -1) return false;
      const text = pending.slice(PASTE_BEGINS.length, end).replace(/\r\n?/g, "\n");
      pending = pending.slice(end + PASTE_ENDS.length);
      onKey({ kind: "paste", text });
      return true;
    }
    if (pending.startsWith("\x1b")) return readEscape();
    const control = CONTROLS[pending.charAt(0)];
    if (control !== undefined) {
      pending = pending.slice(1);
      onKey({ kind: control });
      return true;
    }
    const plain = /^[^\x00-\x1f\x7f]+/.exec(pending)?.[0];
    pending = pending.slice(plain?.length ?? 1);
    if (plain !== undefined) onKey({ kind: "text", text: plain });
    return true;
  };

  const readEscape = (): boolean => {
    if (pending.length === 1) return false;
    const sequence = /^\x1b(\[[0-9;?]*[ -/]*[@-~]|O.|[^[O])/s.exec(pending);
    if (sequence === null) {
      if (/^\x1b\[[0-9;?]*$/.test(pending) || pending === "\x1bO") return false;
      pending = pending.slice(1);
      return true;
    }
    const [whole, name] = sequence;
    if (whole === PASTE_BEGINS) return false;
    pending = pending.slice(whole.length);
    const key = SEQUENCES[name as string];
    if (key !== undefined) onKey({ kind: key });
    return true;
  };

  return {
    add(bytes: Uint8Array): void {
      pending += decoder.decode(bytes, { stream: true });
      while (pending !== "" && step());
    },
    /** Nothing came for a moment: an escape that stands alone was the key itself. */
    flush(): void {
      if (pending === "\x1b") {
        pending = "";
        onKey({ kind: "escape" });
      }
    },
  };
}
