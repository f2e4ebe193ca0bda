import { type BranchInput, KEYS } from './program';

/**
 * The dialect has no branches of its own: a `Gather` stores the input in a variable, and an `If` compares it.
 * This file writes a branch as such a comparison, and recognises it again.
 */
export function branchExpression(on: BranchInput, output: string, keys: readonly string[]): string {
  const entered = `\${${output}.digits}`;
  if (on === 'timeout') return `${entered}==''`;
  if (on !== 'nomatch') return `${entered}=='${on}'`;
  return keys.length === 0 ? `${entered}!=''` : `${entered}!~'^[${keys.join('')}]?$'`;
}

export interface Comparison {
  output: string;
  on: BranchInput;
  /** For `nomatch`: the keys that have branches. */
  keys: string;
}

/** Also accepts the forms that people write: double quotes, and spaces around the operator. */
export function readBranchExpression(expression: string): Comparison | undefined {
  const match = /^\s*\$\{([A-Za-z][A-Za-z0-9_]*)\.digits\}\s*(==|!=|!~)\s*(?:'([^']*)'|"([^"]*)")\s*$/.exec(
    expression,
  );
  if (!match) return undefined;
  const [, output = '', operator] = match;
  const operand = match[3] ?? match[4] ?? '';
  if (operator === '==') {
    if (operand === '') return { output, on: 'timeout', keys: '' };
    const key = KEYS.find((one) => one === operand);
    return key && { output, on: key, keys: '' };
  }
  const keys =
    operator === '!=' ? (operand === '' ? '' : undefined) : /^\^\[([0-9*#]+)\]\?\$$/.exec(operand)?.[1];
  return keys === undefined ? undefined : { output, on: 'nomatch', keys };
}
