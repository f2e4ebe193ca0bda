import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { DOMAIN, senderOf } from './addresses';
import { givenId } from './common';
import { id, success } from './envelope';
import { finding, refused } from './validation-issue';

/** What owners write about senders (api.md 15). All of it is ours, so all of it is strict. */

const dkim = z.strictObject({
  // A name of DNS, of which `_domainkey` and the domain are added.
  selector: z
    .string()
    .trim()
    .max(63)
    .regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'This must be a name of DNS'),
  privateKey: z
    .string()
    .max(LIMITS.accountValueChars)
    .refine(signsMail, refused('invalid_format', 'This must be a private RSA or Ed25519 key in PEM')),
});

export const senderBody = z
  .strictObject({
    workspace: givenId,
    channel: z.enum(CHANNELS),
    sender: z.string().trim().min(1).max(LIMITS.senderChars),
    dkim: dkim.optional(),
  })
  .transform((value, context) => {
    const { channel } = value;
    if (channel !== 'email' && value.dkim) {
      context.addIssue(finding('not_applicable', 'Only mail is signed', ['dkim']));
    }
    if (channel === 'email') {
      if (DOMAIN.test(value.sender)) return { ...value, sender: value.sender.toLowerCase() };
      context.addIssue(finding('invalid_sender', 'This must be a domain, such as example.com', ['sender']));
      return z.NEVER;
    }
    const checked = senderOf[channel].safeParse(value.sender);
    if (checked.success) return { ...value, sender: checked.data };
    context.addIssue(finding('invalid_sender', 'This is not a sender of this channel', ['sender']));
    return z.NEVER;
  });

function signsMail(pem: string): boolean {
  try {
    return ['rsa', 'ed25519'].includes(createPrivateKey(pem).asymmetricKeyType ?? '');
  } catch {
    return false;
  }
}

export type SenderInput = z.output<typeof senderBody>;

const registered = z
  .strictObject({
    id,
    workspace: id,
    channel: z.enum(CHANNELS),
    sender: z.string().meta({ description: 'Of email, a domain.' }),
    dkim: z
      .strictObject({ selector: z.string() })
      .optional()
      .meta({ description: 'The key itself is never shown.' }),
  })
  .meta({ id: 'RegisteredSender' });

export const senders = success(z.array(registered));
export const oneSender = success(registered);
export const deletedSender = success(z.strictObject({ id }));
