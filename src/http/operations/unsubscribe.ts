import { z } from 'zod';
import { linkAnswer } from '../../contracts/answers/unsubscribe';
import { unsubscribeBody } from '../../contracts/unsubscribe';
import { OPEN } from '../access';
import type { Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const html = z.string().regex(/^<!doctype html>/i);
const page = (title: string) => ({
  'text/html': { schema: html, example: `<!doctype html><title>${title}</title>` },
});

export const showUnsubscribePage: Operation = {
  id: 'showUnsubscribePage',
  access: OPEN,
  tag: 'Suppression',
  summary: 'Show the page behind a link in a mail',
  description:
    'A page with a button, for people; it works without scripts. Reading it, however often, changes nothing.',
  parameters: { token: EXAMPLE.unsubscribeToken },
  answers: { 200: { description: 'The page.', content: page('Unsubscribe?') } },
  errors: ['not_found', 'too_many_attempts', 'dependency_down'],
};

export const unsubscribeByLink: Operation = {
  id: 'unsubscribeByLink',
  access: OPEN,
  tag: 'Suppression',
  summary: 'Unsubscribe by the link in a mail',
  description:
    'One-click unsubscribing (RFC 8058), for the mail program or its service: no cookie, no redirection, and repeating it is harmless. From then on the workspace sends no email to the address, whoever the sender. With `action=resubscribe`, which is what the page offers afterwards, that block is lifted again, and no other.',
  parameters: { token: EXAMPLE.unsubscribeToken },
  body: {
    content: {
      'application/json': {
        schema: unsubscribeBody,
        examples: { oneClick: { 'List-Unsubscribe': 'One-Click' } },
      },
      'application/x-www-form-urlencoded': {
        schema: unsubscribeBody,
        examples: {
          oneClick: { 'List-Unsubscribe': 'One-Click' },
          resubscribe: { action: 'resubscribe' },
        },
      },
    },
  },
  answers: {
    200: {
      description: 'Done: as a page for who accepts HTML.',
      content: {
        'application/json': {
          schema: linkAnswer,
          example: answered(200, 'Unsubscribed', { unsubscribed: true }),
        },
        ...page('You are unsubscribed'),
      },
    },
  },
  errors: ['not_found', 'too_many_attempts', 'dependency_down'],
};
