import type { DurableSends } from '../../campaigns/sends/durable-sends';
import { answer, idParams } from '../../contracts/common';
import { durableSendBody } from '../../contracts/durable-sends';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import { cancelDurableSend, createDurableSend, readDurableSend } from '../operations/durable-sends';
import type { App } from '../routing';

/** api.md 8. */
export function durableSendRoutes(app: App, { sends }: { sends: DurableSends }): void {
  const config = { auth: 'app' } as const;

  const creating = {
    config: { ...config, idempotent: true },
    schema: { operation: createDurableSend, body: durableSendBody },
  } as const;
  app.post('/api/send', creating, async (request, reply) => {
    const id = generatorOf(request).id('snd');
    const send = await sends.create(callerOf(request).workspaceId, id, request.body);
    return reply.code(202).send(answer(202, 'Durable send accepted', send));
  });

  const one = { params: idParams };
  app.get('/api/send/:id', { config, schema: { operation: readDurableSend, ...one } }, async (request) => {
    const send = await sends.read(callerOf(request).workspaceId, request.params.id);
    return answer(200, 'Durable send', send);
  });

  app.delete(
    '/api/send/:id',
    { config, schema: { operation: cancelDurableSend, ...one } },
    async (request, reply) => {
      const send = await sends.cancel(callerOf(request).workspaceId, request.params.id);
      if (send.state === 'canceled') return answer(200, 'Durable send canceled', send);
      return reply.code(202).send(answer(202, 'Durable send will be canceled if it still can be', send));
    },
  );
}
