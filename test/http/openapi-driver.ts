import { EXAMPLE } from '../../src/http/openapi/examples';
import type { OpenApiDocument, OperationObject, ResponseObject } from '../../src/http/openapi/types';
import type { Step } from './openapi-story';
import type { HttpAnswer } from './service';

/** One operation of the document, and where it is. */
export interface Documented extends OperationObject {
  method: string;
  path: string;
}

export function operationsOf(document: OpenApiDocument): Documented[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** What the examples' names stand for in this run: found where answers hold what their examples name. */
export class Names {
  private readonly real = new Map<string, string>();

  /** What an example names first is what it names for good. */
  set(example: string, value: string): void {
    if (!this.real.has(example)) this.real.set(example, value);
  }

  learn(example: unknown, answer: unknown): void {
    if (typeof example === 'string' && typeof answer === 'string') {
      if (LEARNABLE.has(example)) this.set(example, answer);
    } else if (isObject(example) && isObject(answer)) {
      for (const [key, value] of Object.entries(example)) this.learn(value, answer[key]);
    }
  }

  /** The same, with what is real in the place of what the example names. */
  in<Value>(value: Value): Value {
    let text = JSON.stringify(value);
    for (const [example, real] of this.real) text = text.replaceAll(example, real);
    return JSON.parse(text) as Value;
  }
}

/** A time and an address are the same for everybody. The others are too long to stand in a real id by chance. */
const LEARNABLE = new Set<string>(
  Object.entries(EXAMPLE).flatMap(([name, value]) => (name === 'at' || name === 'email' ? [] : [value])),
);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** The documented request: its path with query, and its body if it has one. */
export function requestOf(
  operation: Documented,
  names: Names,
  options: Partial<Pick<Step, 'contentType' | 'example' | 'without' | 'parameters'>> = {},
): { path: string; body?: unknown; text?: string; contentType?: string; example?: string } {
  const query = new URLSearchParams();
  let { path } = operation;
  for (const { in: where, name, required, example } of operation.parameters ?? []) {
    if (where === 'header' || options.without?.includes(name)) continue;
    if (example === undefined && required)
      throw new Error(`${operation.operationId}: ${name} has no example`);
    if (example === undefined) continue;
    const value = options.parameters?.[name] ?? String(names.in(example));
    if (where === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  if (query.size > 0) path += `?${query}`;
  if (!operation.requestBody) return { path };

  const [contentType, media] =
    Object.entries(operation.requestBody.content).find(([type]) => type === (options.contentType ?? type)) ??
    [];
  const [example, shown] =
    Object.entries(media?.examples ?? {}).find(([name]) => name === (options.example ?? name)) ?? [];
  if (!contentType || !example) {
    throw new Error(`${operation.operationId} documents no such request: ${JSON.stringify(options)}`);
  }
  const body = names.in(shown?.value);
  return { path, body, text: encoded(contentType, body), contentType, example };
}

function encoded(contentType: string, body: unknown): string {
  if (contentType === 'application/json') return JSON.stringify(body);
  if (contentType === 'application/x-www-form-urlencoded') {
    return String(new URLSearchParams(body as Record<string, string>));
  }
  return String(body);
}

/** What is documented for an answer that came: by its status and its content type. */
export function documentedFor(operation: Documented, answer: HttpAnswer) {
  const response: ResponseObject | undefined = operation.responses[answer.status];
  const type = String(answer.headers['content-type']).split(';')[0] as string;
  return { response, type, media: response?.content?.[type] };
}
