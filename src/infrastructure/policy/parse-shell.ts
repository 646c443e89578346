import {
  type ArithmeticCommandExpansion,
  type ArithmeticExpression,
  type ArithmeticWord,
  type Assignment,
  type Command,
  type CommandArgument,
  type CompoundList,
  type HereDoc,
  type ParameterExpansionPart,
  type ParsedScript,
  type ParseError,
  type Pipeline,
  parse,
  type Redirection,
  type Statement,
  type TestExpression,
  type Word,
  type WordPart,
} from "unbash";
import type {
  ShellAssignment,
  ShellCommand,
  ShellDialect,
  ShellFunction,
  ShellInput,
  ShellOddity,
  ShellParse,
  ShellRedirect,
  ShellScript,
  ShellWord,
} from "../../domain/policy/shell-script.ts";

function shellWord(word: Word): ShellWord {
  return { text: word.text, value: (word.parts ?? []).every(isKnown) ? word.value : null };
}

/** `export A=b`: an assignment that is an argument is the word `A=b`. */
function argumentWord(argument: CommandArgument): ShellWord {
  if (argument.type === "Word") return shellWord(argument);
  const { name, value, append, index } = argument;
  const known = value.type === "Word" && !append && !index ? shellWord(value).value : null;
  return { text: argument.text, value: known === null ? null : `${name}=${known}` };
}

/** Quoted delimiters keep the body as it is; in others a backslash before `$`, `` ` ``, `\` or a new line is removed. */
function bodyText(node: HereDoc): string | null {
  if (node.delimiter?.quoted) return node.body.text;
  if (!(node.body.parts ?? []).every(isKnown)) return null;
  return node.body.text.replace(/\\([$`\\]|\n)/g, (_, one: string) => (one === "\n" ? "" : one));
}

/** The words that a `${…}` holds. */
function listWordParts(part: ParameterExpansionPart): Word[] {
  const words: (Word | undefined)[] = [part.index];
  const { operation } = part;
  if (operation && "operand" in operation) words.push(operation.operand);
  if (operation?.type === "Replace") words.push(operation.pattern, operation.replacement);
  if (operation?.type === "Slice") words.push(operation.offset, operation.length);
  return words.filter((word) => word !== undefined);
}

function isKnown(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return true;
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.every(isKnown);
    default:
      return false;
  }
}

function* arithmeticLeaves(
  node: ArithmeticExpression | undefined,
): Generator<ArithmeticWord | ArithmeticCommandExpansion> {
  switch (node?.type) {
    case undefined:
      return;
    case "ArithmeticBinary":
      yield* arithmeticLeaves(node.left);
      yield* arithmeticLeaves(node.right);
      return;
    case "ArithmeticUnary":
      yield* arithmeticLeaves(node.operand);
      return;
    case "ArithmeticTernary":
      for (const each of [node.test, node.consequent, node.alternate]) yield* arithmeticLeaves(each);
      return;
    case "ArithmeticGroup":
      yield* arithmeticLeaves(node.expression);
      return;
    case "ArithmeticCommandExpansion":
    case "ArithmeticWord":
      yield node;
  }
}

function testWords(node: TestExpression): Word[] {
  switch (node.type) {
    case "TestUnary":
      return [node.operand];
    case "TestBinary":
      return [node.left, node.right];
    case "TestLogical":
      return node.operands.flatMap(testWords);
    case "TestNot":
      return testWords(node.operand);
    case "TestGroup":
      return testWords(node.expression);
  }
}

/** To `sh`, `[[` is a program: `<` and `>` redirect, `&&` and `||` begin another command, brackets a subshell. */
function readOtherwiseBySh(node: TestExpression): boolean {
  switch (node.type) {
    case "TestUnary":
      return false;
    case "TestBinary":
      return node.operator === "<" || node.operator === ">";
    case "TestLogical":
    case "TestGroup":
      return true;
    case "TestNot":
      return readOtherwiseBySh(node.operand);
  }
}

interface ScriptSource {
  readonly text: string;
  readonly dialect: ShellDialect;
  /** Filled with what was found broken, in nested scripts too. */
  readonly errors: ParseError[];
}

/** The position of a node. */
interface NodeContext {
  readonly text: string;
  readonly input: ShellInput;
  readonly inFunction: string | null;
  /** Whether it always runs. */
  readonly always: boolean;
}

type ShellNode = Statement["command"] | Pipeline["commands"][number] | CompoundList;

/** Flattens the tree: every simple command with its words, and the contents of substitutions as separate commands. */
function collectCommands(root: ParsedScript, source: ScriptSource): ShellScript {
  const commands: ShellCommand[] = [];
  const functions: ShellFunction[] = [];
  const oddities: ShellOddity[] = [];
  const odd = (kind: ShellOddity["kind"], text: string) => oddities.push({ kind, text });

  function visitScript(script: ParsedScript | undefined, place: NodeContext) {
    if (!script) {
      source.errors.push({ message: "substitution that cannot be read", pos: 0 });
      return;
    }
    source.errors.push(...(script.errors ?? []));
    const text = script.source ?? place.text;
    visitStatements(script.commands, { ...place, text });
  }

  function visitStatements(statements: readonly Statement[], place: NodeContext) {
    for (const each of statements)
      visit(each.command, { ...place, always: place.always && !each.background });
  }

  function visitList(list: CompoundList | undefined, place: NodeContext) {
    if (list) visitStatements(list.commands, place);
  }

  function visit(node: ShellNode, place: NodeContext): void {
    const perhaps = { ...place, always: false };
    switch (node.type) {
      case "Command":
        visitCommand(node, place);
        return;
      case "CompoundList":
        visitList(node, perhaps);
        return;
      case "AndOr":
        for (const [index, each] of node.commands.entries()) visit(each, index === 0 ? place : perhaps);
        return;
      case "Pipeline":
        visitPipeline(node, node.commands.length === 1 ? place : perhaps);
        return;
      case "Redirected": {
        const input = visitRedirects(node.redirects, place) ?? place.input;
        const text = node.redirects.map((each) => place.text.slice(each.pos, each.end)).join(" ");
        pushBare({ redirects: node.redirects.flatMap(shellRedirect) }, text, place);
        visit(node.command, { ...perhaps, input });
        return;
      }
      case "Function":
        if (node.name.parts) source.errors.push({ message: "function without a plain name", pos: node.pos });
        functions.push({ name: node.name.value, always: place.always });
        visit(node.body, { ...perhaps, inFunction: node.name.value });
        return;
      case "Coproc":
        visit(node.body, perhaps);
        return;
      case "Subshell":
        visitList(node.body, perhaps);
        return;
      case "BraceGroup":
        visitList(node.body, place);
        return;
      case "If":
        visitList(node.clause, perhaps);
        visitList(node.then, perhaps);
        for (const each of node.elif) {
          visitList(each.clause, perhaps);
          visitList(each.then, perhaps);
        }
        visitList(node.else, perhaps);
        return;
      case "For":
      case "Select":
        visitWords(node.wordlist ?? [], place);
        pushBare({ assignments: [loopVariable(node.name)] }, node.name.text, place);
        visitList(node.body, perhaps);
        return;
      case "While":
        visitList(node.clause, perhaps);
        visitList(node.body, perhaps);
        return;
      case "Case":
        visitWords([node.word], place);
        for (const item of node.items) {
          visitWords(item.pattern, place);
          visitList(item.body, perhaps);
        }
        return;
      case "ArithmeticFor":
        bashOnly(place.text.slice(node.pos, node.end));
        for (const each of [node.initialize, node.test, node.update]) visitArithmetic(each, place);
        visitList(node.body, perhaps);
        return;
      case "ArithmeticCommand":
        // `sh` reads `((x))` as a subshell in a subshell, and runs x.
        bashOnly(`((${node.body}))`);
        visitArithmetic(node.expression, place);
        return;
      case "TestCommand":
        visitTest(node.expression, place, place.text.slice(node.pos, node.end));
        return;
    }
  }

  function bashOnly(text: string) {
    if (source.dialect === "sh") odd("bash-only", text);
  }

  function visitPipeline(node: Pipeline, place: NodeContext) {
    let input = place.input;
    for (const each of node.commands) {
      const first = commands.length;
      visit(each, { ...place, input });
      const from = Array.from({ length: commands.length - first }, (_, index) => first + index);
      input = { kind: "pipe", from };
    }
  }

  function visitCommand(node: Command, place: NodeContext) {
    const own = visitRedirects(node.redirects, place);
    const assignments = node.prefix.filter((each): each is Assignment => each.type === "Assignment");
    for (const each of assignments) visitAssignment(each, place);
    if (node.name) visitWords([node.name], place);
    for (const each of node.args)
      if (each.type === "Word") visitWords([each], place);
      else visitAssignment(each, place);
    commands.push({
      text: place.text.slice(node.pos, node.end),
      words: node.name ? [shellWord(node.name), ...node.args.map(argumentWord)] : [],
      assignments: assignments.map(shellAssignment),
      redirects: node.redirects.flatMap(shellRedirect),
      input: own ?? place.input,
      inFunction: place.inFunction,
    });
  }

  /** The assignments and redirects of a compound command, as a command without a name. */
  function pushBare(
    what: Partial<Pick<ShellCommand, "assignments" | "redirects">>,
    text: string,
    place: NodeContext,
  ) {
    const { input, inFunction } = place;
    commands.push({ text, words: [], assignments: [], redirects: [], ...what, input, inFunction });
  }

  function visitAssignment(node: Assignment, place: NodeContext) {
    if (node.index) visitWords([node.index], place);
    visitWords(node.value.type === "ArrayValue" ? node.value.elements : [node.value], place);
  }

  /** Returns the input they give, if they give one. */
  function visitRedirects(redirects: readonly Redirection[], place: NodeContext): ShellInput | null {
    let input: ShellInput | null = null;
    for (const each of redirects) {
      const descriptor = each.descriptor?.type === "FileDescriptor" ? each.descriptor.value : 0;
      if (each.type === "HereDoc") {
        visitParts(each.body.parts ?? [], place);
        if (descriptor === 0) input = { kind: "document", text: bodyText(each) };
        continue;
      }
      if (!each.target) {
        source.errors.push({ message: "redirection without a target", pos: each.pos });
        continue;
      }
      visitWords([each.target], place);
      if (descriptor !== 0) continue;
      if (each.type === "HereString") input = { kind: "document", text: shellWord(each.target).value };
      else if (each.operator.startsWith("<")) input = { kind: "file" };
    }
    return input;
  }

  function visitWords(words: readonly Word[], place: NodeContext) {
    for (const word of words) visitParts(word.parts ?? [], place);
  }

  function visitParts(parts: readonly WordPart[], place: NodeContext) {
    const inside: NodeContext = { ...place, input: { kind: "inherited" }, always: false };
    for (const part of parts) {
      switch (part.type) {
        case "CommandExpansion":
        case "ProcessSubstitution":
          visitScript(part.script, inside);
          break;
        case "ArithmeticExpansion":
          visitArithmetic(part.expression, inside);
          break;
        case "AnsiCQuoted":
          // `sh` knows no `$'…'`: for it the first `\'` ends the string, and the rest is commands.
          if (part.text.includes("\\'")) bashOnly(part.text);
          break;
        case "ParameterExpansion":
          if (part.operation?.type === "Transform" && part.operation.operand.text === "P")
            odd("evaluates-data", part.text);
          visitWords(listWordParts(part), inside);
          break;
        default:
          if ("parts" in part && part.parts) visitParts(part.parts, place);
      }
    }
  }

  function visitArithmetic(expression: ArithmeticExpression | undefined, place: NodeContext) {
    for (const leaf of arithmeticLeaves(expression))
      if (leaf.type === "ArithmeticWord") visitParts(leaf.parts ?? [], place);
      else visitScript(leaf.script, { ...place, always: false });
  }

  function visitTest(expression: TestExpression, place: NodeContext, text: string) {
    if (readOtherwiseBySh(expression)) bashOnly(text);
    visitWords(testWords(expression), place);
  }

  visitScript(root, {
    text: source.text,
    input: { kind: "inherited" },
    inFunction: null,
    always: true,
  });
  return { commands, functions, oddities };
}

function shellAssignment(node: Assignment): ShellAssignment {
  const value = node.value.type === "ArrayValue" ? { text: node.text, value: null } : shellWord(node.value);
  return { name: node.name, value: node.append ? { ...value, value: null } : value };
}

function loopVariable(name: Word): ShellAssignment {
  return { name: name.value, value: { text: "", value: null } };
}

function shellRedirect(node: Redirection): ShellRedirect[] {
  if (node.type !== "Redirect" || !node.target) return [];
  return [{ operator: node.operator, target: shellWord(node.target) }];
}

/** The size limit of one process argument on Linux: a longer script never reaches `sh -c`. */
const MAX_BYTES = 128 * 1024 - 1;

/** The parser's time grows with their square; within the limits, far above real commands, it is below half a second. */
const LIMITS: readonly { readonly what: string; readonly pattern: RegExp; readonly limit: number }[] = [
  { what: "braces", pattern: /\{/g, limit: 4000 },
  { what: "substitutions", pattern: /[$<>]\(/g, limit: 1000 },
  { what: "expansions", pattern: /\$[{[]|`/g, limit: 6000 },
  { what: "here-documents", pattern: /<</g, limit: 1000 },
  { what: "operators in arithmetic", pattern: /[-+*/%&|^?:,=<>~!]\s*[\w$(]/g, limit: 20_000 },
];

/** Reads a script with `unbash`. An incomplete script is refused: half a tree cannot support a decision. */
export function parseShell(text: string, dialect: ShellDialect): ShellParse {
  if (new TextEncoder().encode(text).length > MAX_BYTES)
    return { ok: false, code: "too-large", message: `${MAX_BYTES} bytes`, at: MAX_BYTES };
  const nul = text.indexOf("\0");
  if (nul >= 0) return { ok: false, code: "syntax", message: "NUL character", at: nul };
  for (const { what, pattern, limit } of LIMITS)
    if ((text.match(pattern)?.length ?? 0) > limit)
      return { ok: false, code: "too-complex", message: `${limit} ${what}`, at: 0 };
  try {
    const errors: ParseError[] = [];
    const script = collectCommands(parse(text), { text, dialect, errors });
    const [first] = errors;
    if (first) return { ok: false, code: "syntax", message: first.message, at: first.pos };
    return { ok: true, script };
  } catch (error) {
    // The parser recurses; what is nested past its stack is not parsed.
    if (error instanceof RangeError) return { ok: false, code: "too-complex", message: "nesting", at: 0 };
    throw error;
  }
}
