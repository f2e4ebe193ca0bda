import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { DomainError, isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';

/** One physical line of an upload, numbered from 1; a line without a text could not be read. */
export type Line =
  | { number: number; text: string }
  | { number: number; problem: 'line_too_long' | 'not_utf8' };

const LF = 0x0a;
const CR = 0x0d;
const BOM = [0xef, 0xbb, 0xbf];
/** A CR is part of the line's end, which does not count. */
const KEPT_BYTES = LIMITS.csvLineBytes + 1;

/**
 * Splits a stream of bytes into lines, holding at most one line; a line beyond the limit is dropped as it
 * arrives. It splits bytes, not characters, so that a line in another encoding does not affect others. It reads
 * no faster than its reader, and never destroys the stream, which may be a request that still needs its answer.
 */
export async function* readLines(source: Readable): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes <= KEPT_BYTES) parts.push(part);
    else parts = [];
  };
  const take = (): Line => {
    number++;
    const line = toLine(number, parts, bytes);
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const piece of piecesOf(source)) {
    const chunk = Buffer.from(piece);
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      keep(chunk.subarray(from, at));
      yield take();
      from = at + 1;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  }
  if (bytes > 0) yield take();
}

async function* piecesOf(source: Readable): AsyncGenerator<Buffer> {
  try {
    yield* source.iterator({ destroyOnReturn: false });
  } catch (error) {
    // Such as the end of the caller's session, which broke nothing off.
    if (isDomainError(error)) throw error;
    throw new DomainError('malformed_body', 'The upload broke off; send the file again', { cause: error });
  }
}

function toLine(number: number, parts: Buffer[], bytes: number): Line {
  if (bytes > KEPT_BYTES) return { number, problem: 'line_too_long' };
  let line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (line.at(-1) === CR) line = line.subarray(0, -1);
  if (line.length > LIMITS.csvLineBytes) return { number, problem: 'line_too_long' };
  if (number === 1 && BOM.every((byte, i) => line[i] === byte)) line = line.subarray(BOM.length);
  return isUtf8(line) ? { number, text: line.toString() } : { number, problem: 'not_utf8' };
}
