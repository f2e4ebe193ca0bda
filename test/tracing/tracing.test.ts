/** Proves what is kept out of traces, how much of a campaign is told, and that nothing is loaded without a collector. */

import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { openTracingOf } from '../../src/app/app';
import { readConfig } from '../../src/config';
import { LIMITS } from '../../src/domain/limits';
import type * as opentelemetry from '../../src/tracing/opentelemetry';
import { createMessageTraces } from '../../src/tracing/tracing';

describe('traces', () => {
  test('are off without a collector, and then load nothing', () => {
    const config = readConfig({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' });
    expect(config.tracing).toBeUndefined();
    expect(openTracingOf({ config } as never, {} as never)).toBeUndefined();
    expect(Object.keys(require.cache).filter((path) => path.includes('exporter-trace-otlp'))).toEqual([]);
  });

  test('hold no addresses of what errors say', () => {
    const { withoutAddresses } = require('../../src/tracing/opentelemetry') as typeof opentelemetry;
    expect(withoutAddresses('550 <ada.lovelace@example.com>: +1 (202) 555-0190 is unknown')).toBe(
      '550 <…>: … is unknown',
    );
    expect(withoutAddresses('run run_01 has 12 shards at line 1204:33')).toBe(
      'run run_01 has 12 shards at line 1204:33',
    );
  });

  test('are on with one, by whichever of the standard names, and off when disabled', () => {
    const at = 'http://127.0.0.1:4318';
    expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: at }).tracing).toEqual({ serviceName: 'fanfare' });
    expect(
      readConfig({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${at}/v1/traces`, OTEL_SERVICE_NAME: 'mail' })
        .tracing,
    ).toEqual({ serviceName: 'mail' });
    expect(
      readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: at, OTEL_SDK_DISABLED: 'TRUE' }).tracing,
    ).toBeUndefined();
  });

  test('that would be sent in a way that is not spoken are refused at the start', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    };
    expect(() => readConfig(environment)).toThrow(/OTEL_EXPORTER_OTLP_PROTOCOL: only http\/json/);
    expect(readConfig({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).tracing).toBeUndefined();
  });

  const told = { channel: 'sms' as const, provider: 'p', account: 'a', startedAtMs: 0, tookMs: 1 };
  const request = (traceId: string) =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b'.repeat(16), traceFlags: 1 });

  test('connect hand-overs with the requests that brought their messages, by workspace', () => {
    let active = ROOT_CONTEXT;
    const handedOver: [string | undefined, number][] = [];
    const traces = createMessageTraces({
      active: () => active,
      handOver: (parent, count) => handedOver.push([parent && trace.getSpanContext(parent)?.traceId, count]),
    });
    active = request('1'.repeat(32));
    traces.accepting('one', [{ uid: 'a' }, { uid: 'b' }]);
    active = request('2'.repeat(32));
    traces.accepting('two', [{ uid: 'a' }]);
    traces.left(
      [
        { workspaceId: 'one', uid: 'a' },
        { workspaceId: 'two', uid: 'a' },
        { workspaceId: 'one', uid: 'b' },
        { workspaceId: 'one', uid: 'from before' },
      ],
      told,
    );
    expect(handedOver).toEqual([
      ['1'.repeat(32), 2],
      ['2'.repeat(32), 1],
      [undefined, 1],
    ]);
  });

  test('tell the first hand-overs of a request alone, and forget what is too much', () => {
    let spans = 0;
    const orphans: number[] = [];
    const traces = createMessageTraces({
      active: () => ROOT_CONTEXT,
      handOver: (parent, count) => {
        if (parent) spans++;
        else orphans.push(count);
      },
    });
    const messages = Array.from({ length: LIMITS.tracedMessages + 1 }, (_, i) => ({ uid: `m${i}` }));
    traces.accepting('w', messages);
    for (const one of messages.slice(1, 100)) traces.left([{ workspaceId: 'w', ...one }], told);
    expect(spans).toBe(LIMITS.tracedHandOvers);
    traces.left([{ workspaceId: 'w', uid: 'm0' }], told);
    expect(orphans).toEqual([1]);
  });
});
