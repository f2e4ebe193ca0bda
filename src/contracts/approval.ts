import { z } from 'zod';
import { LIMITS } from '../domain/limits';

/** `POST /api/campaign/{id}/approve`: of what `GET …/digest` showed. */
export const approveBody = z.strictObject({ digest: z.string().min(1).max(LIMITS.digestChars) });
