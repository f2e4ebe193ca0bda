import { LIMITS } from '../../domain/limits';
import type { Sealing } from '../access/sealing';
import { openAccountSecrets, sealAccountSecrets } from './account-secrets';

/** What an account's callbacks are proved by: its secrets, and keys that stand among its settings. */
export type Proofs = Record<string, unknown>;

/** The settings by which callbacks are proved at Telnyx, SendGrid and Postmark. */
const PROVING_SETTINGS = ['publicKey', 'webhookUser'] as const;

export const proofsOf = (settings: Record<string, unknown>, secrets: Record<string, unknown>): Proofs => ({
  ...Object.fromEntries(
    PROVING_SETTINGS.flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]]])),
  ),
  ...secrets,
});

interface FormerRow {
  id: string;
  previous_secrets: string | null;
  previous_key_id: string | null;
  previous_until: Date | null;
}

/** Each lasts ten minutes from its own change, because carriers sign with it until they learn of the next one. */
interface Former {
  until: string;
  proofs: Proofs;
}

/**
 * Secrets and keys from before the latest changes, newest first, because callbacks may still be signed with
 * them.
 */
export function formerProofs(sealing: Sealing, row: FormerRow, now = new Date()): Proofs[] {
  return readFormer(sealing, row, now).map(({ proofs }) => proofs);
}

/** The columns of an account whose proofs change now. */
export function keptFormer(sealing: Sealing, row: FormerRow, before: Proofs, now = new Date()) {
  const until = new Date(now.getTime() + LIMITS.oldSecretMinutes * 60_000);
  const former: Former[] = [
    { until: until.toISOString(), proofs: before },
    ...readFormer(sealing, row, now).slice(0, LIMITS.formerProofs - 1),
  ];
  const { secrets, key_id } = sealAccountSecrets(sealing, row.id, { former });
  return { previous_secrets: secrets, previous_key_id: key_id, previous_until: until };
}

function readFormer(sealing: Sealing, row: FormerRow, now: Date): Former[] {
  const { id, previous_secrets: secrets, previous_key_id: key_id, previous_until: until } = row;
  if (secrets === null || key_id === null || until === null || until <= now) return [];
  // Without their key, what is signed with the present secrets still counts.
  if (!sealing.keyIds.includes(key_id)) return [];
  const opened = openAccountSecrets(sealing, { id, secrets, key_id });
  // Earlier versions kept the secrets before the last change alone.
  if (!Array.isArray(opened.former)) return [{ until: until.toISOString(), proofs: opened }];
  return (opened.former as Former[]).filter((one) => new Date(one.until) > now);
}
