import type { DurableSendBody } from '../../contracts/durable-sends';
import { BoundedCache } from '../../domain/bounded-cache';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { SendingFinding, SendingQuestion } from '../../domain/sending-question';
import type { TemplateLookup } from '../model/dependencies';

/** What no account of the service can do of a send, as an error; `undefined` where some account can, or it is not known. */
export type ImpossibleSend = (workspaceId: string, body: DurableSendBody) => Promise<DomainError | undefined>;

/**
 * Asks the service as campaigns do, so that the caller learns of it from the answer and not from the send's
 * end. The recipient is not named, because addresses stand in no URL: a route for some numbers only is
 * checked at the hand-over.
 *
 * A service that does not answer in time must not keep a send from being stored. Answers are shared for a moment, because
 * many sends by one template would otherwise double the requests at the service.
 */
export function impossibleSend(check: TemplateLookup['check']): ImpossibleSend {
  const asked = new BoundedCache<{ answer: Promise<readonly SendingFinding[]>; untilMs: number }>(
    LIMITS.sendChecksKept,
  );

  function ask(workspaceId: string, question: SendingQuestion): Promise<readonly SendingFinding[]> {
    const key = JSON.stringify([workspaceId, question]);
    const known = asked.get(key);
    if (known && Date.now() < known.untilMs) return known.answer;
    const answer = check ? inTime(check(workspaceId, question)).catch(() => []) : Promise.resolve([]);
    asked.set(key, { answer, untilMs: Date.now() + LIMITS.sendCheckSharedMs });
    return answer;
  }

  return async (workspaceId, { channel, from, version, class: kind, 'template-id': templateId }) => {
    if (channel === 'email' || templateId === undefined) return undefined;
    const found = await ask(workspaceId, { channel, from, templateId, version, class: kind });
    const errors = found.filter(({ severity }) => severity === 'error');
    if (errors.length === 0) return undefined;
    return new DomainError('not_possible', errors.map(({ message }) => message).join('; '), {
      errors: errors.map(({ about, message }) => ({
        ...{ path: FIELD[about] ?? 'channel', code: 'not_possible' as const, message },
      })),
    });
  };
}

const FIELD: Readonly<Record<string, string>> = {
  account: 'channel',
  sender: 'from',
  template: 'template-id',
};

async function inTime(findings: Promise<readonly SendingFinding[]>): Promise<readonly SendingFinding[]> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<readonly SendingFinding[]>((resolve) => {
    timer = setTimeout(resolve, LIMITS.sendCheckMs, []);
  });
  try {
    return await Promise.race([findings, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
