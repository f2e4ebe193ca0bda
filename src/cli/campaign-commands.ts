import { type Command, InvalidArgumentError, Option } from 'commander';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, RETRIABLE } from '../domain/recipient';
import { createCampaign, dryRunCampaign } from './campaign-from-file';
import { actOnCampaign, listCampaigns, listRuns, reportCampaign, showCampaign } from './campaign-reading';
import { sendCampaign } from './campaign-send';
import {
  approveCampaign,
  changePace,
  releaseCampaign,
  retryFailed,
  showDigest,
  watchCampaign,
} from './campaign-steering';
import { withApi } from './command';
import { openBackend, openInstance } from './instance';
import { countUpTo } from './resource';
import { listenForStop } from './stop-signals';

/**
 * `fanfare campaign …` (api.md 13), on a running instance over HTTP. `watch` exits with 1 unless the campaign
 * was completed.
 */
export function addCampaignCommands(program: Command, end: (code: number) => void): void {
  const campaign = program.command('campaign').description('campaigns of the workspace');
  addCreating(campaign);
  addFollowing(campaign, end);
  addSteering(campaign);
}

function addCreating(campaign: Command): void {
  campaign
    .command('list')
    .description('list campaigns, newest first')
    .addOption(new Option('--channel <channel>', 'with this channel').choices(CHANNELS))
    .addOption(new Option('--status <status>', 'with this status').choices(['active', 'paused', 'completed']))
    .option('--search <text>', 'whose name has this in it')
    .option('--limit <number>', 'how many at most', wholeLimit, LIMITS.pageSizeDefault)
    .option('--json', 'print them as JSON')
    .action((options) => withApi(openBackend(), (api) => listCampaigns(api, options)));

  campaign
    .command('create <file>')
    .description('create a campaign from what POST /api/campaign takes; - reads the standard input')
    .option('--json', 'print the campaign as JSON')
    .action((file, options) => withApi(openBackend(), (api) => createCampaign(api, file, options)));

  campaign
    .command('send')
    .description('send a template to a few addresses, or to those of a file: one call creates and starts it')
    .addOption(new Option('--channel <channel>', 'on this channel').choices(CHANNELS).makeOptionMandatory())
    .requiredOption('--template <name>', 'what is sent, by its name; its newest version')
    .requiredOption('--from <sender>', 'email address, short code or caller id')
    .requiredOption('--to <address...>', 'addresses, or one .csv, .ndjson or .json file of recipients')
    .option('--name <name>', 'of the campaign; the template’s unless given')
    .option('--param <name=value...>', 'a value for every recipient')
    .option('--country <code>', 'where phone numbers are that name no country, such as US')
    .option('--skip-invalid', 'leave wrong rows out instead of sending nothing')
    .option('--json', 'print the campaign as JSON')
    .action((options) => withApi(openBackend(), (api) => sendCampaign(api, options)));

  campaign
    .command('dry-run <file>')
    .description('tell what would become of a campaign; sends and creates nothing')
    .option('--json', 'print the answer as JSON')
    .action((file, options) => withApi(openBackend(), (api) => dryRunCampaign(api, file, options)));
}

function addFollowing(campaign: Command, end: (code: number) => void): void {
  campaign
    .command('status <id>')
    .description('show a campaign with its counts')
    .option('--json', 'print all of it as JSON')
    .action((id, options) => withApi(openBackend(), (api) => showCampaign(api, id, options)));

  campaign
    .command('runs <id>')
    .description('list the runs of a campaign, newest first')
    .option('--limit <number>', 'how many at most', wholeLimit, LIMITS.pageSizeDefault)
    .option('--json', 'print them as JSON')
    .action((id, options) => withApi(openBackend(), (api) => listRuns(api, id, options)));

  campaign
    .command('digest <id>')
    .description('show what an approval is of')
    .option('--json', 'print all of it as JSON')
    .action((id, options) => withApi(openBackend(), (api) => showDigest(api, id, options)));

  campaign
    .command('approve <id>')
    .description('approve a campaign that another person created, as the user of credentials.json')
    .requiredOption('--digest <digest>', 'what `digest` has shown')
    .option('--json', 'print the campaign as JSON')
    .action((id, options) => withApi(openInstance(), (api) => approveCampaign(api, id, options)));

  campaign
    .command('watch <id>')
    .description('follow a campaign until it has ended')
    .option('--json', 'print a line of JSON for every change')
    .action(async (id, options) => {
      const stop = listenForStop();
      try {
        await withApi(openBackend(stop.signal), async (api) => {
          end(await watchCampaign(api, id, { ...options, signal: stop.signal }));
        });
      } finally {
        stop.dispose();
      }
    });
}

function addSteering(campaign: Command): void {
  for (const [action, description] of Object.entries(ACTIONS)) {
    campaign
      .command(`${action} <id>`)
      .description(description)
      .option('--json', 'print the campaign as JSON')
      .action((id, options) => withApi(openBackend(), (api) => actOnCampaign(api, id, action, options)));
  }

  campaign
    .command('retry-failed <id>')
    .description('send again to recipients that were not reached')
    .addOption(new Option('--state <state...>', 'only to those in this state').choices(RETRIABLE))
    .option('--code <code...>', 'only to those with this code; "rejected" needs it')
    .option('--json', 'print the answer as JSON')
    .action((id, options) => withApi(openBackend(), (api) => retryFailed(api, id, options)));

  campaign
    .command('release <id>')
    .description('let the next stage of a release go')
    .addOption(new Option('--stages <n>', 'how many stages, or "all"').argParser(stagesOf).default(1))
    .option('--json', 'print the answer as JSON')
    .action((id, options) => withApi(openBackend(), (api) => releaseCampaign(api, id, options)));

  campaign
    .command('pace <id>')
    .description('change how many recipients are taken on a second; "off" lifts the limit')
    .argument('<per-second>', '', paceOf)
    .option('--json', 'print the answer as JSON')
    .action((id, pace, options) => withApi(openBackend(), (api) => changePace(api, id, pace, options)));

  campaign
    .command('report <id>')
    .description('print counts, and write the recipients to a file')
    .option('--csv <file>', 'where to write the recipients')
    .addOption(
      new Option('--channel <channel>', 'of the file: recipients on this channel only').choices(CHANNELS),
    )
    .addOption(
      new Option('--state <state>', 'of the file: recipients in this state only').choices(RECIPIENT_STATES),
    )
    .option('--json', 'print the counts as JSON')
    .action((id, options) => withApi(openBackend(), (api) => reportCampaign(api, id, options)));
}

const ACTIONS = {
  start: 'start a draft, or one that waits for its hour',
  pause: 'hand nothing more to a provider',
  resume: 'go on where it stopped, paused or failed',
  cancel: 'stop for good',
};

function stagesOf(value: string): number | 'all' {
  if (value === 'all') return value;
  const stages = Number(value);
  if (Number.isInteger(stages) && stages >= 1 && stages <= LIMITS.releaseStages + 1) return stages;
  throw new InvalidArgumentError(`It must be a whole number up to ${LIMITS.releaseStages + 1}, or "all".`);
}

function paceOf(value: string): number | null {
  if (value === 'off') return null;
  const pace = Number(value);
  if (pace >= LIMITS.paceMin && pace <= LIMITS.paceMax) return pace;
  throw new InvalidArgumentError(`It must be a number up to ${LIMITS.paceMax}, or "off".`);
}

const wholeLimit = (value: string): number => countUpTo(LIMITS.pageSizeMax, value);
