import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';

/**
 * Passes on what a long import takes or a long export gives, for as long as its person's session may do that: a file of
 * hours would otherwise go on after the session was ended or the user disabled. An access token counts at the beginning of
 * a request, because it ends by its time alone, and a program cannot foresee how long a file takes.
 */
export async function* whileAdmitted<Part>(
  request: FastifyRequest,
  parts: AsyncIterable<Part>,
): AsyncGenerator<Part> {
  if (request.caller?.via !== 'cookie') return yield* parts;
  let checkedAt = Date.now();
  for await (const part of parts) {
    if (Date.now() - checkedAt >= LIMITS.authCacheSeconds * 1_000) {
      if (!(await request.server.stillAdmits(request))) throw noLonger();
      checkedAt = Date.now();
    }
    yield part;
  }
}

/**
 * The same for a file that is read as a stream. What is left of it after a failure is read and thrown away, because a
 * destroyed request takes its connection along, and the caller would see that in place of the answer.
 */
export const admitted = (request: FastifyRequest, file: Readable): Readable =>
  Readable.from(readOrDrop(request, file), { objectMode: false });

async function* readOrDrop(request: FastifyRequest, file: Readable): AsyncGenerator<Buffer> {
  try {
    yield* whileAdmitted<Buffer>(request, file.iterator({ destroyOnReturn: false }));
  } finally {
    file.resume();
  }
}

const noLonger = () =>
  new DomainError(
    'unauthenticated',
    'The session ended, or may do less, before all rows were through. Log in and send the same file again: rows that are stored stay, and are found unchanged',
  );
