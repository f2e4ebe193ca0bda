import { LIMITS } from './limits';
import { placeholdersOf } from './template';
import type { ValidationIssue } from './validation-issue';

/** A text of a template and its path, as in `template.b1.data.props.text`. */
export interface TemplateText {
  path: string;
  text: string;
}

/** Placeholders for which no message can have a value (api.md 1, `params`). */
export function checkPlaceholders(texts: readonly TemplateText[]): ValidationIssue[] {
  const findings: ValidationIssue[] = [];
  const all = new Set<string>();
  for (const { path, text } of texts) {
    for (const name of placeholdersOf(text)) {
      all.add(name);
      if (name.length <= LIMITS.paramsKeyChars) continue;
      const message = `The placeholder ${name.slice(0, 20)}… has more than ${LIMITS.paramsKeyChars} characters`;
      findings.push({ path, code: 'placeholder_too_long', message, severity: 'error' });
    }
  }
  const path = texts[texts.length - 1]?.path;
  if (all.size > LIMITS.paramsKeys && path !== undefined) {
    const message = `${all.size} placeholders; a message brings at most ${LIMITS.paramsKeys} values`;
    findings.push({ path, code: 'too_many_placeholders', message, severity: 'error' });
  }
  return findings.slice(0, LIMITS.lintFindings);
}

/** Braces that look like a mistyped placeholder. They are literal text and are sent as they are. */
export function lintPlaceholders(texts: readonly TemplateText[]): ValidationIssue[] {
  const findings: ValidationIssue[] = [];
  for (const { path, text } of texts) {
    const told = new Set<string>();
    for (const match of text.matchAll(LOOKS_LIKE_ONE)) {
      const [whole] = match;
      if (PLACEHOLDER.test(whole) || told.has(whole)) continue;
      told.add(whole);
      const message = `${whole} is not a placeholder: that is {{NAME}}, upper-case letters, digits and _ in two pairs of braces`;
      findings.push({ path, code: 'not_a_placeholder', message, severity: 'warning' });
      if (findings.length >= LIMITS.lintFindings) return findings;
    }
  }
  return findings;
}

/** At least one pair of braces, and between them what could be a name. */
const LOOKS_LIKE_ONE =
  /(?:\{{2,3}[ \t]*[\p{L}_][\p{L}\p{N}_ \t.-]{0,63}\}{1,3})|(?:\{[ \t]*[\p{L}_][\p{L}\p{N}_ \t.-]{0,63}\}{2,3})/gu;
const PLACEHOLDER = /^\{\{ *[A-Z][A-Z0-9_]* *\}\}$/;
