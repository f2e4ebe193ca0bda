import { type Command, InvalidArgumentError } from 'commander';
import { withApi } from './command';
import { openBackend } from './instance';
import { previewTemplate, pullTemplates, pushTemplates } from './loaded-when-run';

/** `fanfare template …` (api.md 13), on a running instance over HTTP; a file is previewed without one. */
export function addTemplateCommands(program: Command, end: (code: number) => void): void {
  const template = program.command('template').description('templates of the workspace');

  template
    .command('push <path>')
    .description('save templates from a file, or from a directory as pull writes it')
    .option('--json', 'print what became of each as JSON')
    .action((path, options) =>
      withApi(openBackend(), async (api) => {
        end(await pushTemplates(api, path, options));
      }),
    );

  template
    .command('pull <directory>')
    .description('write every template into files')
    .option('--json', 'print what became of each as JSON')
    .action((directory, options) => withApi(openBackend(), (api) => pullTemplates(api, directory, options)));

  template
    .command('preview <id-or-file>')
    .description('print the parts of a template, filled; of a call also a drawing of its flow')
    .option('--params <file>', 'values, as an object of JSON; - reads the standard input')
    .option('--version <number>', 'of a stored template; the newest one unless said', versionNumber)
    .option('--json', 'print the parts as JSON')
    .action((source, options) => previewTemplate(() => openBackend(), source, options));
}

function versionNumber(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}
