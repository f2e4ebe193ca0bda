import { type Account, isVendor } from '../../domain/account';
import { DomainError } from '../../domain/errors';
import type { Routed } from '../../domain/route';
import type { CallOptions } from '../../domain/voice/call-options';
import type { Inability, Wish } from '../../providers/vendor/vendor';
import type { CompiledTemplate } from '../templates/template-versions';
import type { Carriers } from './carriers';
import { emptyBody, findInabilities } from './routes';

/**
 * Why no account that a message would leave by can send it. Checked when the message is accepted, because the
 * caller learns of it from the answer; later only the message's end would show it.
 */
export type ImpossibleRule = (
  message: Routed & { voice?: CallOptions | undefined },
  text: {
    /**
     * Returns the text filled with the message's values. Called only where an account has a limit of its own.
     */
    filled(): string;
    template: CompiledTemplate | undefined;
  },
) => DomainError | undefined;

export function impossibleRule(
  carriersNow: () => Pick<Carriers, 'reachOfMessage'> | undefined,
  unable: ((account: Account, wish: Wish) => Inability[]) | undefined,
): ImpossibleRule {
  return (message, { filled, template }) => {
    const { channel, from, voice } = message;
    const carriers = carriersNow();
    if (channel === 'email' || !carriers || !unable) return undefined;
    const reached = carriers.reachOfMessage(message);
    // Most installations have an account here that can send everything, so that nothing is filled in.
    if (reached.usual.some(({ kind }) => !isVendor(kind))) return undefined;
    const check = (body: string) =>
      findInabilities({ channel, from, voice, body }, [reached], unable).filter(
        ({ severity }) => severity === 'error',
      );
    const findings = check(filled());
    if (findings.length === 0) return undefined;
    // If the template alone makes sending impossible, the campaign stops. If the recipient's values do, only
    // this recipient ends.
    const ofAll = template !== undefined && check(emptyBody(template)).length > 0;
    const code = ofAll ? 'not_possible' : 'message_not_possible';
    return new DomainError(code, findings.map(({ message: text }) => text).join('; '), {
      errors: findings.map(({ about, message: text }) => ({
        ...{ path: FIELD[about], code: 'not_possible' as const, message: text },
      })),
    });
  };
}

const FIELD: Record<Inability['about'], string> = {
  account: 'channel',
  sender: 'from',
  template: 'template-id',
};
