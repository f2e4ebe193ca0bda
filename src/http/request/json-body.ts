import { isUtf8 } from 'node:buffer';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { App } from './routing';
import { findUnstorable, maybeUnstorable } from './unstorable-text';
import { invalidRequest } from './validation';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Member of the body whose entries the route checks one by one; '' is the body itself. Text there that cannot be
     * stored, and an entry that is too large, are the route's to refuse, so that one entry does not keep the others from
     * being taken.
     */
    checksEach?: 'messages' | 'contacts' | 'recipients' | '';
    /** What a caller that posts nothing should post, where a JSON object is not what the path is for. */
    wanted?: string;
  }
  interface FastifyRequest {
    /** The body has such text where the route checks entries one by one, or may have it. */
    maybeUnstorable: boolean;
  }
}

/** JSON is the only content type, unless a route's own scope adds another. */
export function parseJsonBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest('maybeUnstorable', false);
  // The framework's parser refuses keys such as __proto__, which would take effect on a copy of the object.
  const parse = app.getDefaultJsonParser('error', 'error');

  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8Declared(request.headers['content-type'] ?? '')) {
      return done(new DomainError('unsupported_media_type', 'JSON is taken in UTF-8 only'));
    }
    if (!isUtf8(bytes)) return done(unreadable(request.headers['content-encoding']));
    const text = bytes.toString('utf8');
    void parse(request, text.startsWith('\ufeff') ? text.slice(1) : text, (error, value) => {
      if (error) return done(malformed('The body is not valid JSON'));
      const key = repeatedKey(text, value);
      if (key !== undefined) return done(malformed(`The body has an object with two keys ${quoted(key)}`));
      request.maybeUnstorable = maybeUnstorable(text);
      const mayBeWide = text.length > 2 * LIMITS.bodyEntries;
      // A look at the route makes an object with all that it has.
      if (!mayBeWide && !request.maybeUnstorable) return done(null, value);
      const { checksEach } = request.routeOptions.config;
      const wide = mayBeWide ? findTooWide(value, checksEach) : undefined;
      const unstorable = request.maybeUnstorable ? findUnstorable(value, checksEach) : undefined;
      const refused = wide ?? unstorable;
      done(refused ? invalidRequest([refused]) : null, value);
    });
  });

  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body !== undefined) return done();
    const { config, schema } = request.routeOptions;
    const wanted = config.wanted ?? 'this path takes a JSON object';
    done(schema?.body ? malformed(`The body is empty; ${wanted}`) : undefined);
  });
}

/** RFC 9110, 8.4: a content coding that is not taken may be answered with 415. */
const unreadable = (coding: string | undefined) =>
  coding === undefined
    ? malformed('The body is not valid UTF-8')
    : new DomainError(
        'unsupported_media_type',
        'No compressed body is taken; send it without content-encoding',
      );

const malformed = (message: string) => new DomainError('malformed_body', message);

const QUOTED_CHARS_MAX = 64;
const quoted = (key: string) => JSON.stringify(key.slice(0, QUOTED_CHARS_MAX));

function isUtf8Declared(contentType: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1];
  return charset === undefined || /^utf-?8$/i.test(charset);
}

/**
 * Finds JSON objects that have a key twice. Such JSON is refused, because readers disagree about its meaning
 * (RFC 8259, section 4). The parser keeps the last value without an error, but the text then has more keys than
 * the value. Counting both costs 1 µs for a message and 20 ms for 8 MiB.
 */
function repeatedKey(text: string, value: unknown): string | undefined {
  return keysInText(text) === keysIn(value) ? undefined : findRepeated(text);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** One colon outside of strings for every key. */
function keysInText(text: string): number {
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === COLON) keys++;
    else if (character === QUOTE) at = endOfString(text, at);
  }
  return keys;
}

function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

function keysIn(root: unknown): number {
  let keys = 0;
  // It keeps its own stack, because a body of brackets nests deeper than recursion can.
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    const children = Object.values(value);
    if (!Array.isArray(value)) keys += children.length;
    for (const child of children) if (typeof child === 'object') waiting.push(child);
  }
  return keys;
}

/**
 * A list or an object with more entries than any path takes, but for what is in the member `except`. To find out what is
 * wrong with each of a million would hold up all other requests of the process.
 */
function findTooWide(root: unknown, except: string | undefined): FieldError | undefined {
  if (except === '') return undefined;
  const waiting: { value: unknown; path: string }[] = [{ value: root, path: '' }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null || path === except) continue;
    const entries = Object.entries(value);
    if (entries.length > LIMITS.bodyEntries) {
      const message = `At most ${LIMITS.bodyEntries} entries`;
      return { path, code: 'too_many', message };
    }
    for (const [key, child] of entries) {
      if (typeof child === 'object')
        waiting.push({ value: child, path: path === '' ? key : `${path}.${key}` });
    }
  }
  return undefined;
}

const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;

/** The first key that stands twice in one object. */
function findRepeated(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return undefined;
}
