import { pipeline, Readable, Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { FastifyRequest } from 'fastify';
import { maskAddresses, maskedValue } from '../domain/masked-address';
import { callerOf } from './caller';
import type { App } from './routing';

/** Whether the caller may see addresses, and find by them. A viewer may not (api.md 17). */
export const seesAddresses = (request: FastifyRequest): boolean => callerOf(request).role !== 'viewer';

/**
 * Masks the addresses in every answer to a viewer: JSON, CSV files and server-sent events. It is done here, and not
 * where answers are made, so that a new endpoint cannot forget it.
 */
export function maskForViewers(app: App): void {
  app.addHook('preSerialization', async (request, _reply, payload) =>
    isMasked(request) ? maskedValue(payload) : payload,
  );
  app.addHook('onSend', async (request, _reply, payload) => {
    if (!isMasked(request) || !(payload instanceof Readable)) return payload;
    const masked = maskLines();
    pipeline(payload, masked, () => undefined);
    return masked;
  });
}

/** Templates are written for recipients and name none; what they name is the workspace's own. */
const isMasked = ({ caller, routeOptions }: FastifyRequest): boolean =>
  caller?.role === 'viewer' && routeOptions.schema?.operation?.tag !== 'Templates';

/** Line by line, because a chunk may end within an address. Lines of CSV and of events are short. */
function maskLines(): Transform {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return new Transform({
    transform(chunk: Buffer | string, _encoding, done) {
      const text = rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk));
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      done(null, end === 0 ? undefined : maskAddresses(text.slice(0, end)));
    },
    flush(done) {
      const last = maskAddresses(rest + decoder.end());
      done(null, last === '' ? undefined : last);
    },
  });
}
