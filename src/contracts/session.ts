import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { role, workspace } from './admin';
import { id, successToo } from './envelope';

export const loginBody = z.strictObject({
  email: z.string().min(1).max(254),
  password: z.string().min(1).max(LIMITS.passwordChars),
});

export const session = z.strictObject({
  success: z.literal(true),
  user: z.strictObject({ id, email: z.string(), role, workspace }).meta({ id: 'SessionUser' }),
});

export const endedSession = z.strictObject({ ...successToo, data: z.null() });
