import type { FieldCode } from './field-codes';

/**
 * What a check has to say about one place of an input. An `error` makes the input invalid; a `warning`
 * is told beside the answer, and changes nothing. `path` is dotted, as in `template.b1.data.childrenIds.2`.
 */
export interface Finding {
  path: string;
  code: FieldCode;
  message: string;
  severity: 'error' | 'warning';
}
