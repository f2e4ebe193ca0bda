import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { failRun } from '../src/campaigns/runs/fail-run';
import { readControl } from '../src/campaigns/runs/runs';
import type { Control } from '../src/domain/campaign';
import { DomainError, ERRORS, type ErrorCode, isDomainError } from '../src/domain/errors';

export interface Stopped {
  kind: 'stopped';
  control: Exclude<Control, 'run'>;
}

/**
 * Runs `work`, and stops the run when the service refuses our account, because a person must act first. Until
 * then no recipient is sent to, and no attempt is used. A run that its operator has paused or canceled
 * meanwhile stays so. One that they have resumed continues: a refusal may arrive late, and it stops only the
 * `launch` that asked.
 */
export async function stoppingRun<T>(
  db: Kysely<CampaignTables>,
  { runId, launch }: { runId: string; launch?: number | undefined },
  work: () => Promise<T>,
): Promise<T | Stopped> {
  try {
    return await work();
  } catch (error) {
    if (!isDomainError(error) || ERRORS[error.code].retry !== 'account') throw error;
    await failRun(db, runId, `${error.code}: ${error.message}`, { launch });
    const control = await readControl(db, runId);
    return { kind: 'stopped', control: control === 'run' ? 'fail' : control };
  }
}

/** Refusals of all messages of a campaign that say nothing about the credentials: new ones would not help. */
const REFUSALS_OF_CAMPAIGNS = [
  'sender_not_allowed',
  'not_possible',
  'insecure_links',
] as const satisfies ErrorCode[];

export function accountRefused(code: string): DomainError {
  if (code === 'service_not_found') {
    return new DomainError(
      code,
      'What answers is not the messaging service; check FANFARE_SEND_URL and FANFARE_AUTH_URL, then resume the campaign',
    );
  }
  const ofCampaign = REFUSALS_OF_CAMPAIGNS.find((one) => one === code);
  if (ofCampaign !== undefined) {
    return new DomainError(
      ofCampaign,
      `The messaging service takes no message of this campaign (${ERRORS[ofCampaign].title.toLowerCase()}); put that right, then resume the campaign`,
    );
  }
  return new DomainError(
    'invalid_client',
    `The messaging service refuses our account (${code}); check the credentials, then resume the campaign`,
  );
}
