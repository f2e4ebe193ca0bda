import type { ReadCampaignOutcomesResponse } from '../api/types.gen';
import { TEXTS } from '../texts';

/** What an outcome means and what to do about it, in words for people who have never seen the code. */
export interface Meaning {
  means: string;
  todo: string;
}

type State = ReadCampaignOutcomesResponse['data'][number]['state'];

const { outcomes } = TEXTS;
const BY_CODE: Record<string, Meaning> = outcomes.byCode;
const BY_STATE: Partial<Record<State, Meaning>> = outcomes.byState;

export function meaningOf(state: State, code: string | null): Meaning {
  if (code !== null && Object.hasOwn(BY_CODE, code)) return BY_CODE[code] as Meaning;
  const mail = code === null ? undefined : mailMeaning(code);
  return mail ?? BY_STATE[state] ?? { means: outcomes.carriers, todo: outcomes.noAction };
}

/** RFC 5321 4.2.1 and RFC 3463: the first digit says whether it may be tried again, the second what it is about. */
function mailMeaning(code: string): Meaning | undefined {
  const [, enhanced, subject] = /(?:^|[\s-])([245])\.(\d{1,3})\.\d{1,3}/.exec(code) ?? [];
  const first = enhanced ?? /^([45])\d\d(?:$|\D)/.exec(code)?.[1];
  if (first !== '4' && first !== '5') return undefined;
  if (first === '4') return outcomes.mail.later;
  if (subject === '1') return outcomes.mail.address;
  if (subject === '7') return outcomes.mail.policy;
  return outcomes.mail.forGood;
}
