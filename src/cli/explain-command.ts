import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import type { ApiClient } from './api-client';
import { print, printable, withApi } from './command';
import { openBackend } from './instance';

interface ExplainOptions {
  channel?: string;
  run?: string;
  json?: boolean;
}

/** `fanfare explain` (api.md 19), on a running instance over HTTP. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain <campaign> <address>')
    .description('tell why a person was, or was not, sent a campaign, and what comes next')
    .addOption(
      new Option('--channel <channel>', 'on this channel; else the one that was last acted on').choices(
        CHANNELS,
      ),
    )
    .option('--run <id>', 'in this run; else the newest one that has the person')
    .option('--json', 'print the explanation as JSON')
    .action((campaign, address, options: ExplainOptions) =>
      withApi(openBackend(), (api) => explain(api, campaign, address, options)),
    );
}

const explanation = z.object({
  data: z.looseObject({
    summary: z.string(),
    next: z.object({ at: z.string().optional(), why: z.string(), detail: z.string() }).nullable(),
    steps: z.array(
      z.looseObject({ at: z.string(), what: z.string(), code: z.string().optional(), detail: z.string() }),
    ),
    others: z.array(z.string()),
  }),
});

async function explain(
  api: ApiClient,
  campaign: string,
  address: string,
  { channel, run, json }: ExplainOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...{ campaign, to: address },
    ...(channel === undefined ? {} : { channel }),
    ...(run === undefined ? {} : { runId: run }),
  });
  const { data } = await api.get(`/api/explain?${query}`, explanation);
  const { summary, next, steps, others } = data;
  const width = Math.max(...steps.map(({ what }) => what.length));
  print(json, data, [
    printable(summary),
    '',
    ...steps.map(
      ({ at, what, code, detail }) =>
        `${at}  ${what.padEnd(width)}  ${printable(detail)}${code === undefined ? '' : ` (${printable(code)})`}`,
    ),
    ...(next ? ['', `next: ${next.why}${next.at === undefined ? '' : `, at ${next.at}`}`] : []),
    ...(others.length > 0 ? ['', `The person's other recipients: ${others.join(', ')}`] : []),
  ]);
}
