import { readMetrics } from '../operations/service';
import type { App } from '../routing';

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
