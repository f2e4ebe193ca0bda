import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { answer } from '../contracts/common';
import { alive, installation, ready } from '../contracts/health';
import type { AccountState } from '../domain/account';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { VERSION } from '../domain/version';
import { answered, EXAMPLE } from './openapi/examples';
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

    const config = { auth: 'open', isProbe: true } as const;
    app.get('/readyz', { config, schema: { operation: readyz } }, async () => {
      const checks = await readiness();
      const missing = Object.keys(checks).filter((name) => !checks[name]);
      if (missing.length === 0) return { status: 'ready', checks, accounts: accounts() };
      throw new DomainError('dependency_down', `Not ready: ${missing.join(', ')}`, {
        errors: missing.map((path) => ({ path, code: 'not_ready', message: 'This is not available yet' })),
      });
    });
  };
}

/**
 * Whether each dependency answers now, by name. What hangs counts as away after a limit that a prober waits for. Its
 * question stays open and serves later callers, so that probes do not take one connection after the other.
 */
export function createReadiness(
  questions: Record<string, () => Promise<unknown>>,
  limitMs: number = LIMITS.readinessAnswerMs,
): () => Promise<Record<string, boolean>> {
  const open = new Map<string, Promise<boolean>>();

  function ask(name: string, question: () => Promise<unknown>): Promise<boolean> {
    const asked =
      open.get(name) ??
      question()
        .then(
          () => true,
          () => false,
        )
        .finally(() => open.delete(name));
    open.set(name, asked);
    return Promise.race([asked, delay(limitMs, false, { ref: false })]);
  }

  return async () => {
    const named = Object.entries(questions).map(
      async ([name, question]) => [name, await ask(name, question)] as const,
    );
    return Object.fromEntries(await Promise.all(named));
  };
}

/** The processes of the installation with what they share, as its owner sees it. */
export type Installation = z.output<typeof installation>['data'];

/** What the installation consists of: addresses of servers are for its owner alone. */
export function installationRoutes(read: () => Promise<Installation>): (app: App) => void {
  return (app) => {
    app.get(
      '/api/admin/installation',
      { config: { auth: 'session' }, schema: { operation: readInstallation } },
      async () => answer(200, 'Installation', await read()),
    );
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

const readInstallation: Operation = {
  id: 'readInstallation',
  access: { role: 'owner' },
  tag: 'Operation',
  summary: 'See what the installation consists of',
  description:
    'The processes that share the database, with their roles and versions; the database; and the Temporal server, without anything secret. A process says every 20 seconds that it lives. One that ends is gone from the list at once, one that was killed after an hour.',
  answers: {
    200: json(
      'The installation.',
      installation,
      answered(200, 'Installation', {
        version: VERSION,
        node: 'v22.23.3',
        processes: [
          {
            ...{ id: 'proc_01kbv7n2c8t4z0x6m9q', host: 'sender-2', pid: 41 },
            roles: ['sender' as const],
            ...{ version: VERSION, buildId: null, startedAt: EXAMPLE.at, lastSeenAt: EXAMPLE.at },
            ...{ state: 'lives' as const, answers: false },
          },
        ],
        database: { version: '17.6', schema: '0114-account-senders', isManaged: false },
        temporal: {
          ...{ address: 'temporal.internal:7233', namespace: 'default', version: '1.29.1' },
          uiUrl: 'https://temporal.internal',
        },
      }),
    ),
  },
};
