import { LIMITS } from '../../domain/limits';
import { LANGUAGES, type Language } from '../../domain/opt-out-packs';

/**
 * The language that a browser prefers among ours (RFC 9110, 12.5.4), otherwise English. Regions are ignored:
 * `pt-BR` and `pt-PT` are both Portuguese.
 */
export function preferredLanguage(header: string | undefined): Language {
  const wishes = (header ?? '').slice(0, LIMITS.acceptLanguageChars).split(',').map(readWish);
  const ours = wishes.flatMap(({ language, weight }) =>
    language && weight > 0 ? [{ language, weight }] : [],
  );
  // Sorting keeps the order of languages with equal weight.
  return ours.sort((a, b) => b.weight - a.weight)[0]?.language ?? 'en';
}

function readWish(wish: string): { language: Language | undefined; weight: number } {
  const [range = '', ...parameters] = wish.split(';').map((part) => part.trim().toLowerCase());
  const name = range === '*' ? 'en' : range.split('-', 1)[0];
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  return {
    language: LANGUAGES.find((language) => language === name),
    weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0,
  };
}
