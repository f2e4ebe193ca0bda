import { loadRun } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import { DomainError } from '../src/domain/errors';
import type { Capability } from '../src/gateway/gateway';
import type { ActivityDeps } from './deps';

/** What a run must know of the messaging service before it sends: that it lets us in, and the templates. */
export function serviceActivities({ db, gatewayFor }: ActivityDeps) {
  return {
    /**
     * Makes sure that there is a token to send with, and answers what the service can do. The token
     * itself stays in this process: nothing secret enters a history.
     */
    async refreshToken(input: { workspaceId: string }): Promise<Capability[]> {
      return [...(await gatewayFor(input.workspaceId).capabilities())];
    },

    /** The names of the placeholders of each channel's template, in the version the campaign pins. */
    async lookUpTemplates(input: { runId: string }): Promise<Partial<Record<Channel, string[]>>> {
      const run = await loadRun(db, input.runId);
      const gateway = gatewayFor(run.workspaceId);
      const placeholders: Partial<Record<Channel, string[]>> = {};
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
      }
      return placeholders;
    },
  };
}
