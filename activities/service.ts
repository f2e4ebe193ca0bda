import { loadRun, type RunPlan } from '../src/campaigns/runs/runs';
import { FeedAsks } from '../src/campaigns/watch/followed-workspaces';
import type { Channel } from '../src/domain/channel';
import { DomainError } from '../src/domain/errors';
import { createTurns } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import { isAllowedSender } from '../src/domain/policy';
import type { Capability } from '../src/gateway/gateway';
import type { ActivityDeps } from './deps';

/**
 * What a run must know of the messaging service before it sends: whether it accepts our account, and the
 * templates.
 */
export function serviceActivities({ db, gatewayFor }: ActivityDeps) {
  const [forTokens, forTemplates] = [someAtOnce(), someAtOnce()];

  async function lookUp(runId: string): Promise<Partial<Record<Channel, string[]>>> {
    const run = await loadRun(db, runId);
    requireAllowedSenders(run);
    const gateway = gatewayFor(run.workspaceId);
    const placeholders: Partial<Record<Channel, string[]>> = {};
    const impossible: string[] = [];
    for (const channel of run.channels) {
      const settings = run.settings[channel];
      const template =
        settings && (await gateway.findTemplate(channel, settings.templateId, settings.version));
      if (!template) {
        throw new DomainError(
          'template_not_found',
          `The messaging service has no ${channel} template ${settings?.templateId} in version ${settings?.version}`,
        );
      }
      placeholders[channel] = template.placeholders;
      if (channel === 'email') continue;
      // Accounts and routes may have changed since the campaign was made.
      const wish = { ...settings, channel, class: run.options.class };
      for (const { severity, message } of await gateway.checkSending(wish)) {
        if (severity === 'error') impossible.push(message);
      }
    }
    if (impossible.length > 0) throw new DomainError('not_possible', impossible.join('; '));
    return placeholders;
  }

  return {
    /**
     * Makes sure that a token exists, and returns what the service can do. The token stays in this process,
     * because no secret may enter a history.
     */
    refreshToken: ({ workspaceId }: { workspaceId: string }): Promise<Capability[]> =>
      forTokens(async () => [...(await gatewayFor(workspaceId).capabilities())]),

    /**
     * Returns the placeholders of each channel's template, in the version that the campaign pins. Fails with
     * `not_possible` when no carrier of the service can send what they say, and with `sender_not_allowed`.
     */
    lookUpTemplates: ({ runId }: { runId: string }): Promise<Partial<Record<Channel, string[]>>> =>
      forTemplates(() => lookUp(runId)),
  };
}

/** The policy may have changed since the campaign was made, and a hosted service knows nothing of it. */
function requireAllowedSenders({ channels, settings, options }: RunPlan): void {
  const refused = channels.filter(
    (channel) => !isAllowedSender(options.policy, channel, settings[channel]?.from ?? ''),
  );
  if (refused.length === 0) return;
  throw new DomainError(
    'sender_not_allowed',
    `The workspace's policy does not allow the sender of ${refused.join(', ')}; put that right, then resume the campaign`,
  );
}

/** Runs `questionsAtOnce` of them at once. Further ones fail, and the server repeats them after its pause between attempts. */
function someAtOnce() {
  return createTurns(LIMITS.questionsAtOnce, {
    waitingMax: 0,
    refusal: () =>
      new DomainError(
        'dependency_down',
        `The messaging service is slow: ${LIMITS.questionsAtOnce} runs wait for its answers, and this one asks again in a moment`,
      ),
  });
}

/**
 * Marks that a run will need its workspace's event feed. The watcher process follows the feeds
 * (src/campaigns/watch/feeds.ts).
 */
export function eventActivities({ db }: ActivityDeps) {
  const asks = new FeedAsks(db);

  return {
    async ensureOutcomeFeed({ workspaceId }: { workspaceId: string }): Promise<void> {
      await asks.ask(workspaceId);
    },

    /** For workflows of an earlier release, one a workspace. They have nothing left to do, so they end. */
    async followEvents(_input: { workspaceId: string }): Promise<'again' | 'quiet'> {
      return 'quiet';
    },
  };
}
