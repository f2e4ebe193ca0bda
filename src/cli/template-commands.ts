import { type Command, InvalidArgumentError, Option } from 'commander';
import { CHANNELS, type Channel } from '../domain/channel';
import type { ApiClient } from './api-client';
import { withApi } from './command';
import { openBackend } from './instance';
import { previewTemplate, pullTemplates, pushTemplates } from './loaded-when-run';
import { addResource, type Row, rowLimit, table } from './resource';
import { listTemplates } from './template-lookup';

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

  addResource(program, { name: 'template', description: 'templates of the workspace', as: 'backend' }, [
    {
      usage: 'list',
      description: 'list templates, newest first in each channel',
      options: [
        new Option('--channel <channel>', 'of this channel').choices(CHANNELS),
        new Option('--search <text>', 'whose name, subject, body or flow has this in it'),
        new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20),
      ],
      run: async (api, _, { channel, search, limit }) =>
        table(
          await readTemplates(api, channel === undefined ? CHANNELS : [channel], { search, limit }),
          COLUMNS,
        ),
    },
  ]);
}

const COLUMNS = ['id', 'channel', 'templateName', 'version', 'updatedAt'];

/** The API lists the templates of one channel. */
async function readTemplates(
  api: ApiClient,
  channels: readonly Channel[],
  { search, limit }: { search?: string; limit: number },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const channel of channels) {
    for await (const template of listTemplates(api, channel, search)) {
      if (rows.length === limit) return rows;
      rows.push(template);
    }
  }
  return rows;
}

function versionNumber(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}
