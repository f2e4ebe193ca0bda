import { LIMITS } from '../../domain/limits';

/**
 * How long a centre is to try, as SMPP 3.4 (7.1.1) writes a relative time: YYMMDDhhmmsstnnR. Relative, because a
 * centre's clock or time zone may be wrong. Undefined without an end, and for one so far away that centres refuse it.
 */
export function validityPeriod(expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  // Nothing at all would mean as long as the centre likes.
  const seconds = Math.max(1, Math.ceil((Date.parse(expiresAt) - nowMs) / 1_000));
  if (seconds > LIMITS.smppValidityHours * 3_600) return undefined;
  const parts = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  return `0000${parts.map((part) => String(part).padStart(2, '0')).join('')}000R`;
}
