import { DomainError } from '../../domain/errors';
import type { AccountState } from '../../messaging/outbox/deliver/account-breaker';
import { healthz, readyz } from '../operations/service';
import type { App } from '../routing';

/**
 * `/healthz`: the process is alive. `/readyz`: whether each dependency works, and the state of the accounts at
 * the carriers. A refused account does not make the process unready, because no other process could send
 * either.
 */
export function healthRoutes(
  readiness: () => Promise<Record<string, boolean>>,
  accounts: () => AccountState[] = () => [],
): (app: App) => void {
  return (app) => {
    app.get('/healthz', { config: { auth: 'open' }, schema: { operation: healthz } }, async () => ({
      status: 'ok',
    }));

    app.get('/readyz', { config: { auth: 'open' }, schema: { operation: readyz } }, async () => {
      const checks = await readiness();
      const missing = Object.keys(checks).filter((name) => !checks[name]);
      if (missing.length === 0) return { status: 'ready', checks, accounts: accounts() };
      throw new DomainError('dependency_down', `Not ready: ${missing.join(', ')}`, {
        errors: missing.map((path) => ({ path, code: 'not_ready', message: 'This is not available yet' })),
      });
    });
  };
}
