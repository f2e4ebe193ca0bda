import { z } from 'zod';
import type { Operation } from './openapi/operation';
import type { App } from './request/routing';

/** `/metrics` (api.md 2), in the text format of Prometheus. */
export function metricsRoutes(metrics: { read(): Promise<string>; contentType: string }): (app: App) => void {
  return (app) => {
    app.get(
      '/metrics',
      { config: { auth: 'metrics' }, schema: { operation: readMetrics } },
      async (_request, reply) => reply.type(metrics.contentType).send(await metrics.read()),
    );
  };
}

const readMetrics: Operation = {
  id: 'readMetrics',
  access: { scopes: ['read'] },
  tag: 'Operation',
  summary: 'Read what the process counts',
  description:
    'For Prometheus. Open to every caller on the same machine that does not come through a proxy; from elsewhere, a Bearer token is needed.',
  answers: {
    200: {
      description: 'The text format of Prometheus.',
      content: {
        'text/plain': {
          schema: z.string(),
          example: 'fanfare_messages_total{channel="sms",state="sent"} 12000\n',
        },
      },
    },
  },
};
