import type { FieldCode } from './field-codes';

/**
 * A problem at one place of an input. An `error` makes the input invalid; a `warning` comes with the answer and
 * changes nothing. `path` is dotted, as in `template.b1.data.childrenIds.2`.
 */
export interface ValidationIssue {
  path: string;
  code: FieldCode;
  message: string;
  severity: 'error' | 'warning';
}
