import { alive, ready } from '../contracts/health';
import type { AccountState } from '../domain/account';
import { DomainError } from '../domain/errors';
import { json, type Operation } from './openapi/operation';
import { OPEN } from './request/access';
import type { App } from './request/routing';

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

const healthz: Operation = {
  id: 'readHealth',
  access: OPEN,
  tag: 'Operation',
  summary: 'Tell that the process is alive',
  description:
    'Answers as long as the process can answer at all, and looks at nothing else: a restart helps when it does not. For what the process depends on, ask `/readyz`.',
  answers: { 200: json('Alive.', alive, { status: 'ok' }) },
};

const readyz: Operation = {
  id: 'readReadiness',
  access: OPEN,
  tag: 'Operation',
  summary: 'Tell whether everything is there',
  description:
    'What the process depends on, each by name. Until all of it is there, 503 says what is missing.',
  answers: {
    200: json('Ready.', ready, {
      status: 'ready',
      checks: { database: true },
      accounts: [{ channel: 'sms', kind: 'http', account: 'default-sms', state: 'ok' }],
    }),
  },
  errors: ['dependency_down'],
};
