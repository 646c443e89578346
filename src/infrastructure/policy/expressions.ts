import type {
  ArithmeticCommandExpansion,
  ArithmeticExpression,
  ArithmeticWord,
  TestExpression,
  Word,
} from "unbash";

export function* arithmeticLeaves(
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

export function testWords(node: TestExpression): Word[] {
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

/**
 * `sh` has no `[[`: it is a program's name there, `<` and `>` are redirections, `&&` and `||` begin another command,
 * brackets a subshell.
 */
export function readOtherwiseBySh(node: TestExpression): boolean {
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
