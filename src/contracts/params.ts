import { z } from 'zod';
import { LIMITS } from '../domain/limits';

/** Values for placeholders by name (messaging-service.md, Message; bounds from api.md 1). */

const NAME = /^[A-Z][A-Z0-9_]*$/;

export const params = z
  .record(z.string(), z.union([z.string(), z.number()]))
  .superRefine((value, context) => {
    const entries = Object.entries(value);
    if (entries.length > LIMITS.paramsKeys) {
      context.addIssue({ code: 'custom', message: `At most ${LIMITS.paramsKeys} values` });
    }
    for (const [name, content] of entries) {
      if (name.length > LIMITS.paramsKeyChars || !NAME.test(name)) {
        const message = `Names are upper-case letters, digits and _, at most ${LIMITS.paramsKeyChars} characters`;
        context.addIssue({ code: 'custom', path: [name], message });
      } else if (typeof content === 'string' && Buffer.byteLength(content) > LIMITS.paramsValueBytes) {
        const message = `At most ${LIMITS.paramsValueBytes} bytes`;
        context.addIssue({ code: 'custom', path: [name], message });
      }
    }
  });
