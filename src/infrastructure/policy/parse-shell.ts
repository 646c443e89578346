import type {
  ArithmeticExpression,
  Assignment,
  Command,
  CompoundList,
  ParsedScript,
  ParseError,
  Pipeline,
  Redirection,
  Statement,
  TestExpression,
  Word,
  WordPart,
} from "unbash";
import type {
  ShellAssignment,
  ShellCommand,
  ShellDialect,
  ShellFunction,
  ShellInput,
  ShellOddity,
  ShellRedirect,
  ShellScript,
} from "../../domain/policy/commands-shell-script.ts";
import { arithmeticLeaves, readOtherwiseBySh, testWords } from "./expressions.ts";
import { argumentWord, bodyText, listWordParts, shellWord } from "./shell-word.ts";

interface ScriptSource {
  readonly text: string;
  readonly dialect: ShellDialect;
  /** Filled with what was found broken, in nested scripts too. */
  readonly errors: ParseError[];
}

/** Where a node stands. */
interface NodeContext {
  readonly text: string;
  readonly input: ShellInput;
  readonly inFunction: string | null;
  /** Whether it runs whatever happens. */
  readonly always: boolean;
}

type ShellNode = Statement["command"] | Pipeline["commands"][number] | CompoundList;

/** Flattens the tree: every simple command with its words, and whatever substitutions hold as commands of their own. */
export function collectCommands(root: ParsedScript, source: ScriptSource): ShellScript {
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

  /** What a compound command sets or opens, as a command without a name. */
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
