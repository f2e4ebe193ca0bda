import type { Command, Option } from 'commander';
import { printable } from './command';

/**
 * Refuses lines that commander takes, but that do something else than their writer means. Most come from a variable of a shell
 * that is not set: with `--sender "$SENDER"` a block would be lifted for every sender.
 */
export function refuseMisusedOptions(command: Command): void {
  for (const one of command.commands) refuseMisusedOptions(one);
  const given = new Map<Option, string[]>();
  for (const option of command.options.filter(({ required }) => required)) {
    command.on(`option:${option.name()}`, (value: string) => {
      given.set(option, [...(given.get(option) ?? []), value]);
    });
  }
  const flags = ['--help', '-h', ...command.options.flatMap(({ long, short }) => [long, short])];
  command.hook('preAction', (_, acting) => {
    if (acting !== command) return;
    const problem =
      [...given].map(([option, values]) => misuseOf(option, values, flags)).find(Boolean) ??
      emptyArgumentOf(command);
    if (problem) command.error(`error: ${problem}`);
  });
}

function misuseOf(option: Option, values: readonly string[], flags: readonly (string | undefined)[]) {
  const named = `option '${option.flags}'`;
  // Commander takes what comes next: `stop --reason --end` would stop the workspace.
  if (values.some((value) => flags.includes(value))) return `${named} argument missing`;
  if (values.some(isEmpty)) return `${named} has an empty value`;
  // Commander keeps the last one: of two channels to suppress an address on, the first would go on being written to.
  const [first, another] = new Set(values);
  if (!option.variadic && another !== undefined)
    return `${named} is given twice, as ${printable(String(first))} and ${printable(another)}`;
  return undefined;
}

function emptyArgumentOf({ args, registeredArguments }: Command): string | undefined {
  const empty = registeredArguments.find(
    (one, i) => !one.variadic && args[i] !== undefined && isEmpty(args[i]),
  );
  return empty && `argument '${empty.name()}' is empty`;
}

const isEmpty = (value: string): boolean => value.trim() === '';
