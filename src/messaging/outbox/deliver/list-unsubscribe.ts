import { addressKey, senderKey } from '../../../domain/suppression';
import type { OutgoingMessage } from '../../model/outgoing';
import type { UnsubscribeTokens } from '../../suppression/unsubscribe-tokens';

/** What mail to many people carries for its recipient (RFC 8058, RFC 2919). */
export interface ListUnsubscribe {
  /** Where its recipient unsubscribes; only for who needs it, since making one takes time. */
  linkFor(message: OutgoingMessage, isAskedFor: boolean): string | undefined;
  headersFor(message: OutgoingMessage, link: string): Record<string, string>;
}

export function createListUnsubscribe(options: {
  tokens: UnsubscribeTokens;
  /** The address under which others reach us; not known before there is one. */
  publicUrl: () => string | undefined;
  /** Where mail that unsubscribes goes. */
  mailto: string | undefined;
}): ListUnsubscribe {
  const { tokens, publicUrl, mailto } = options;

  return {
    linkFor({ workspaceId, to, channel, class: kind }, isAskedFor) {
      const base = publicUrl();
      if (base === undefined || channel !== 'email' || (kind !== 'marketing' && !isAskedFor))
        return undefined;
      return `${base}/u/${tokens.seal({ workspaceId, address: addressKey(to) })}`;
    },
    headersFor({ workspaceId, from, campaign, class: kind }, link) {
      const token = link.slice(link.lastIndexOf('/') + 1);
      const byMail = mailto === undefined ? '' : `, <mailto:${mailto}?subject=${token}>`;
      return {
        'List-Unsubscribe': `<${link}>${byMail}`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        'List-Id': `<${listIdOf(from)}>`,
        'Feedback-ID': [campaign ?? '', workspaceId, kind, 'fanfare'].map(fieldOf).join(':'),
      };
    },
  };
}

/** A list is what comes from one sender, under the sender's own domain. */
function listIdOf(from: string): string {
  const [local = '', domain = ''] = senderKey(from).split('@');
  return `${local.replace(/[^a-z0-9-]+/g, '-').replace(/^-+|-+$/g, '') || 'list'}.${domain}`;
}

/** Colons part the fields; the last, the sender of all of them, must be of 5 to 15 characters. */
const fieldOf = (text: string): string => text.replace(/[^A-Za-z0-9._-]/g, '_');
