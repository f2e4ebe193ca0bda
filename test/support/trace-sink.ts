import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  attributes: Record<string, unknown>;
  service: unknown;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}

/** A collector that keeps what it is sent over OTLP/HTTP, as JSON. */
export class TraceSink {
  readonly spans: SeenSpan[] = [];
  /** Bodies as they came, to be searched for what must not be in them. */
  readonly texts: string[] = [];
  readonly contentTypes = new Set<string | undefined>();
  private readonly server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      this.contentTypes.add(request.headers['content-type']);
      if (request.url === '/v1/traces') this.take(text);
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((done) => void this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** From a span to the first of its trace. */
  lineOf(span: SeenSpan): string[] {
    const line: string[] = [];
    let one: SeenSpan | undefined = span;
    while (one) {
      line.push(one.name);
      const parent: string | undefined = one.parentSpanId;
      one = this.spans.find(({ spanId }) => spanId === parent);
    }
    return line;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private take(text: string): void {
    this.texts.push(text);
    const { resourceSpans } = JSON.parse(text) as {
      resourceSpans: {
        resource: { attributes: Attribute[] };
        scopeSpans: { spans: (Omit<SeenSpan, 'attributes'> & { attributes: Attribute[] })[] }[];
      }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = valuesOf(resource.attributes)['service.name'];
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, attributes: valuesOf(span.attributes), service });
      }
    }
  }
}

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
