/** Proves that alert rules and the dashboard ask for metrics that exist, and that each alert has its page. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MetricsSources } from '../../src/metrics/metrics';
import { createMetrics } from '../../src/metrics/metrics';
import { ROOT } from '../support/root';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const RULES = read('docker/monitoring/alerts.yml');
const DASHBOARD = read('docker/monitoring/dashboard.json');
const PAGE = read('docs/alerts.md');
/** What promtool checks, in alerts.peers.test.ts. */
const CASES = read('docker/monitoring/alerts.test.yml');

/** Names of metrics in a text, without what Prometheus adds to a histogram's. */
const metricsIn = (text: string) => [
  ...new Set(
    [...text.matchAll(/\b(?:fanfare|nodejs|process)_[a-z0-9_]+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
];

describe('what Prometheus and Grafana are given', () => {
  const alerts = [...RULES.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name as string);
  let served: string[];

  beforeAll(async () => {
    const sources: MetricsSources = {
      outbox: async () => [],
      runs: async () => new Map(),
      recipients: async () => [],
      workspaces: async () => [],
      connections: () => ({ open: 0, idle: 0, waiting: 0 }),
      onError: (error) => {
        throw error;
      },
    };
    const text = await createMetrics(sources).read();
    served = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string);
  });

  test('names metrics that every process serves', () => {
    expect(served).toEqual(expect.arrayContaining(metricsIn(RULES)));
    expect(served).toEqual(expect.arrayContaining(metricsIn(DASHBOARD)));
    expect(metricsIn(RULES).length).toBeGreaterThan(10);
  });

  test('shows every metric of ours on the dashboard', () => {
    expect(
      metricsIn(DASHBOARD)
        .filter((name) => name.startsWith('fanfare_'))
        .sort(),
    ).toEqual(served.filter((name) => name.startsWith('fanfare_')).sort());
  });

  test('has a case in which each alert fires', () => {
    const firing = [...CASES.matchAll(/alertname: (\w+)\n {8}exp_alerts:\n/g)].map(([, name]) => name);
    expect([...new Set(firing)].sort()).toEqual([...alerts].sort());
  });

  test('has a page for each alert, to which its rule leads, and none for another', () => {
    expect(alerts.length).toBeGreaterThan(10);
    expect([...PAGE.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts);
    expect([...RULES.matchAll(/runbook: docs\/alerts\.md#(\w+)$/gm)].map(([, anchor]) => anchor)).toEqual(
      alerts.map((name) => name.toLowerCase()),
    );
    const severities = [...RULES.matchAll(/severity: (critical|warning)$/gm)].map(([, one]) => one as string);
    expect([...PAGE.matchAll(/^\*(Critical|Warning)\.\*/gm)].map(([, one]) => one?.toLowerCase())).toEqual(
      severities,
    );
  });
});
