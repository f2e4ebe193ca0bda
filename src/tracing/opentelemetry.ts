import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { envDetectorSync, Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { RequestTraces } from '../http/request/traced-requests';
import { createMessageTraces, type Tracing, type TracingOptions } from './tracing';

const TRACER = 'fanfare';
const EMAIL = /[^\s@"'<>()]+@[^\s@"'<>()]+/g;
const PHONE = /\+?\d[\d ()-]{5,}\d/g;

/**
 * Traces by OpenTelemetry, over OTLP with JSON. The libraries read the other standard variables themselves: where to, with
 * which headers, how many are kept (docs/operating.md). Loaded only when it is wanted, because it costs 30 ms and 15 MB.
 */
export function openTracing({ serviceName }: TracingOptions): Tracing {
  const resource = new Resource({ 'service.name': serviceName }).merge(envDetectorSync.detect() as Resource);
  const processor = new BatchSpanProcessor(withoutTexts(new OTLPTraceExporter()));
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  const tracer = trace.getTracer(TRACER);
  return {
    requests: tracedRequests(),
    messages: createMessageTraces({
      active: () => context.active(),
      handOver(parent, count, { channel, provider: name, account, startedAtMs, tookMs }) {
        const attributes = {
          'fanfare.channel': channel,
          'fanfare.provider': name,
          'fanfare.account': account ?? '',
          'fanfare.messages': count,
        };
        tracer
          .startSpan(
            `HandOver:${channel}`,
            { kind: SpanKind.CLIENT, startTime: startedAtMs, attributes },
            parent ?? ROOT_CONTEXT,
          )
          .end(startedAtMs + tookMs);
      },
    }),
    client: new OpenTelemetryWorkflowClientInterceptor(),
    workers: {
      interceptors: {
        activity: [
          (ctx) => ({
            inbound: new OpenTelemetryActivityInboundInterceptor(ctx),
            outbound: new OpenTelemetryActivityOutboundInterceptor(ctx),
          }),
        ],
      },
      sinks: { exporter: makeWorkflowExporter(processor, resource) } as never,
    },
    headers() {
      const headers: Record<string, string> = {};
      propagation.inject(context.active(), headers);
      return headers;
    },
    async close() {
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

function tracedRequests(): RequestTraces {
  const tracer = trace.getTracer(TRACER);
  return {
    begin({ method, headers }) {
      const parent = propagation.extract(ROOT_CONTEXT, headers);
      const span = tracer.startSpan(
        method,
        { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } },
        parent,
      );
      const own: Context = trace.setSpan(parent, span);
      return {
        run: (work) => context.with(own, work),
        end(route, status) {
          // The pattern, never the path, which may hold an address or a token.
          span.updateName(`${method} ${route ?? 'none'}`);
          span.setAttributes({ 'http.route': route ?? 'none', 'http.response.status_code': status });
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
  };
}

/** Takes addresses out of what errors say, before anything leaves this process. */
function withoutTexts(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans.map(cleaned), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

function cleaned(span: ReadableSpan): ReadableSpan {
  if (span.events.length === 0 && span.status.message === undefined) return span;
  // The exporter reads members that the span's class has; only these two are replaced.
  return Object.create(span, {
    status: { value: { ...span.status, message: withoutAddresses(span.status.message) } },
    events: {
      value: span.events.map((event) => ({
        ...event,
        attributes: Object.fromEntries(
          Object.entries(event.attributes ?? {}).map(([name, value]) => [
            name,
            typeof value === 'string' ? withoutAddresses(value) : value,
          ]),
        ),
      })),
    },
  }) as ReadableSpan;
}

/** A text of an error without email addresses and phone numbers. Whatever looks like one goes, because a trace is kept elsewhere. */
export const withoutAddresses = <Text extends string | undefined>(text: Text): Text =>
  text?.replace(EMAIL, '…').replace(PHONE, '…') as Text;
