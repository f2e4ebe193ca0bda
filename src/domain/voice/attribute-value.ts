import { placeholdersOf } from '../template';
import type { AttributeType } from './verbs';

export type AttributeValue = string | number | boolean;

/**
 * The value that an attribute's text stands for, or what is wrong with it. A text with a placeholder is not
 * checked, because its value is not known yet.
 */
export function readValue(type: AttributeType, text: string): { value: AttributeValue } | { wrong: string } {
  if (holdsPlaceholder(text)) return { value: text };
  switch (type.kind) {
    case 'integer': {
      if (text === type.or) return { value: text };
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      const or = type.or === undefined ? '' : `, or ${type.or}`;
      return value >= type.min && value <= type.max
        ? { value }
        : { wrong: `a whole number from ${type.min} to ${type.max}${or}` };
    }
    case 'one of':
      return type.values.includes(text) ? { value: text } : { wrong: `one of ${type.values.join(', ')}` };
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : { wrong: 'true or false' };
    case 'keys':
      return text.length <= type.max && /^[0-9*#]*$/.test(text) && new Set(text).size === text.length
        ? { value: text }
        : {
            wrong: type.max === 1 ? 'one key of 0-9, * and #, or empty' : 'keys of 0-9, * and #, none twice',
          };
    case 'tones':
      return /^[0-9*#wWA-D]{1,200}$/.test(text)
        ? { value: text }
        : { wrong: 'at most 200 of 0-9, *, #, A-D, w and W' };
    case 'url':
      return isCallableUrl(text) ? { value: text } : { wrong: 'an http or https address without spaces' };
    case 'language':
      return /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4}$/.test(text)
        ? { value: text }
        : { wrong: 'a language tag such as en-US' };
    case 'name':
      return /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(text)
        ? { value: text }
        : { wrong: 'a name of at most 64 letters, digits and _' };
    case 'text':
      return text.length <= type.chars ? { value: text } : { wrong: `at most ${type.chars} characters` };
  }
}

export const holdsPlaceholder = (text: string): boolean =>
  text.includes('{{') && placeholdersOf(text).length > 0;

const URL_CHARS = 2_048;

/** Checks the shape only; whether the target is allowed is decided when it is called. */
export function isCallableUrl(text: string): boolean {
  if (text === '' || text.length > URL_CHARS || /[\s<>"{}|\\^`]/.test(text) || text.startsWith('#'))
    return false;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1];
  return scheme === undefined || /^https?$/i.test(scheme);
}

export const isRelativeUrl = (text: string): boolean => !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text);

/** A name of a place in a document; an XML name without colons. */
export const isLabel = (text: string): boolean => /^[A-Za-z_][\w.-]{0,63}$/.test(text);
