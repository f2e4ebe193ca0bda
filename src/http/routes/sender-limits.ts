import { answer, timestamp } from '../../contracts/common';
import { senderLimitBody, senderLimitKey, senderLimitQuery } from '../../contracts/sender-limits';
import type { SenderLimitList, SenderLimitRecord } from '../../messaging/senders/sender-limit-list';
import { callerOf } from '../caller';
import { liftSenderLimit, listSenderLimits, setSenderLimit } from '../operations/suppression';
import type { App } from '../routing';

const config = { auth: 'app' } as const;

/** Rate limits of single senders that differ from the configured default (decision 6). */
export function senderLimitRoutes(limits: SenderLimitList): (app: App) => void {
  return (app) => {
    app.get(
      '/api/sender-limit',
      { config, schema: { operation: listSenderLimits, querystring: senderLimitQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const found = await limits.list(callerOf(request).workspaceId, request.query);
        return {
          ...answer(200, 'Limits of senders', found.limits.map(present)),
          pagination: { page, limit, total: found.total },
        };
      },
    );

    app.put(
      '/api/sender-limit',
      { config, schema: { operation: setSenderLimit, body: senderLimitBody } },
      async (request) => {
        const { channel, sender, rate, burst, concurrentCalls } = request.body;
        const set = await limits.put(
          callerOf(request).workspaceId,
          { channel, sender },
          {
            rate: rate ?? undefined,
            burst: burst ?? undefined,
            concurrentCalls: concurrentCalls ?? undefined,
          },
        );
        return answer(200, 'Limit set', present(set));
      },
    );

    const removing = { config, schema: { operation: liftSenderLimit, querystring: senderLimitKey } };
    app.delete('/api/sender-limit', removing, async (request) => {
      await limits.remove(callerOf(request).workspaceId, request.query);
      return answer(200, 'The sender is limited as all others', { channel: request.query.channel });
    });
  };
}

function present({ updatedAt, ...limit }: SenderLimitRecord) {
  return { ...limit, updatedAt: timestamp(updatedAt) };
}
