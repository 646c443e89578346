import type { ShellWord } from "../commands-shell-script.ts";

/** Words before `--` that are options, as far as they are known. */
export function optionsOf(args: readonly ShellWord[]): string[] {
  const end = args.findIndex((word) => word.value === "--");
  return (end < 0 ? args : args.slice(0, end))
    .map((word) => word.value)
    .filter((value): value is string => value !== null && /^-./.test(value));
}

/** Words that are no options. An unknown one counts. */
export function operandsOf(args: readonly ShellWord[]): ShellWord[] {
  const end = args.findIndex((word) => word.value === "--");
  const before = end < 0 ? args : args.slice(0, end);
  const after = end < 0 ? [] : args.slice(end + 1);
  return [...before.filter((word) => !/^-./.test(word.value ?? "")), ...after];
}

/** `-r` alone or in a cluster (`-xrf`). */
export function hasShort(options: readonly string[], letters: string): boolean {
  return options.some(
    (option) => /^-[^-]/.test(option) && [...option.slice(1)].some((letter) => letters.includes(letter)),
  );
}

/** `--recursive`, also cut short (`--rec`) as GNU programs allow, also with `=value`. */
export function hasLong(options: readonly string[], ...names: readonly string[]): boolean {
  return options.some((option) => {
    const given = option.split("=", 1)[0] ?? "";
    return given.length > 2 && names.some((name) => `--${name}`.startsWith(given));
  });
}

/** Written out in full, for programs that take no shortened ones. */
export function hasExact(options: readonly string[], ...names: readonly string[]): boolean {
  return options.some((option) => names.some((name) => option === name || option.startsWith(`${name}=`)));
}
