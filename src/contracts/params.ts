import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { finding } from './validation-issue';

/** Values for placeholders by name (messaging-service.md, Message; bounds from api.md 1). */

const NAME = /^[A-Z][A-Z0-9_]*$/;

const value = z.union([z.string(), z.number()], 'This must be text or a number');

export const params = z.record(z.string(), value).superRefine(
  (value, context) => {
    const entries = Object.entries(value);
    if (entries.length > LIMITS.paramsKeys) {
      context.addIssue(finding('too_many', `At most ${LIMITS.paramsKeys} values`));
    }
    // Too many are not judged one by one.
    for (const [name, content] of entries.slice(0, LIMITS.paramsKeys)) {
      if (name.length > LIMITS.paramsKeyChars || !NAME.test(name)) {
        const message = `Names are upper-case letters, digits and _, at most ${LIMITS.paramsKeyChars} characters`;
        context.addIssue(finding('invalid_param_name', message, [name]));
      } else if (typeof content === 'string' && isOver(content, LIMITS.paramsValueBytes)) {
        const message = `At most ${LIMITS.paramsValueBytes} bytes`;
        context.addIssue(finding('too_large', message, [name]));
      }
    }
  },
  // Names are checked beside wrong values, so that all errors come at once.
  { when: ({ value }) => typeof value === 'object' && value !== null },
);

/** Counts bytes only of values that could be too long, because most are short; a character takes at most three bytes. */
const isOver = (value: string, bytes: number) => value.length * 3 > bytes && Buffer.byteLength(value) > bytes;
