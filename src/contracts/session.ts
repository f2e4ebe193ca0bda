import { z } from 'zod';
import { LIMITS } from '../domain/limits';

export const loginBody = z.strictObject({
  email: z.string().min(1).max(254),
  password: z.string().min(1).max(LIMITS.passwordChars),
});
