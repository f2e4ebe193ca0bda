import type { FieldCode } from '../domain/field-codes';

/** Why a field is refused, for zod's `refine`. */
export const refused = (code: FieldCode, message: string) => ({ message, params: { code } });

/** The same for `addIssue`; `path` is seen from where the check stands. */
export const finding = (code: FieldCode, message: string, path: PropertyKey[] = []) => ({
  code: 'custom' as const,
  path,
  ...refused(code, message),
});
