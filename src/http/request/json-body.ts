import { isUtf8 } from 'node:buffer';
import { DomainError } from '../../domain/errors';
import { repeatedKey } from './repeated-keys';
import type { App } from './routing';
import { findUnstorable, maybeUnstorable } from './unstorable-text';
import { invalidRequest } from './validation';

/** JSON is the only content type, unless a route's own scope adds another. */
export function parseJsonBodies(app: App): void {
  app.removeAllContentTypeParsers();
  // The framework's parser refuses keys such as __proto__, which would take effect on a copy of the object.
  const parse = app.getDefaultJsonParser('error', 'error');

  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8Declared(request.headers['content-type'] ?? '')) {
      return done(new DomainError('unsupported_media_type', 'JSON is taken in UTF-8 only'));
    }
    if (!isUtf8(bytes)) return done(malformed('The body is not valid UTF-8'));
    const text = bytes.toString('utf8');
    void parse(request, text.startsWith('\ufeff') ? text.slice(1) : text, (error, value) => {
      if (error) return done(malformed('The body is not valid JSON'));
      const key = repeatedKey(text, value);
      if (key !== undefined) return done(malformed(`The body has an object with two keys ${quoted(key)}`));
      const unstorable = maybeUnstorable(text) ? findUnstorable(value) : undefined;
      done(unstorable ? invalidRequest([unstorable]) : null, value);
    });
  });

  app.addHook('preValidation', (request, _reply, done) => {
    const missing = request.body === undefined && request.routeOptions.schema?.body !== undefined;
    done(missing ? malformed('The body is empty; this path takes a JSON object') : undefined);
  });
}

const malformed = (message: string) => new DomainError('malformed_body', message);

const QUOTED_CHARS_MAX = 64;
const quoted = (key: string) => JSON.stringify(key.slice(0, QUOTED_CHARS_MAX));

function isUtf8Declared(contentType: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1];
  return charset === undefined || /^utf-?8$/i.test(charset);
}
