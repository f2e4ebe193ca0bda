import { z } from 'zod';
import { recipients } from '../../contracts/answers/campaigns';
import { importedContacts } from '../../contracts/answers/contact-lists';
import { recipientsBody } from '../../contracts/campaign-recipients';
import { LIMITS } from '../../domain/limits';
import { json, type Operation } from '../operation';
import { contactRow } from './contact-row';
import { answered, EXAMPLE } from './examples';

const LINES = `{"externalId":"c-3","phone":"+12025550147","params":{"CODE":"A-17"}}
{"email":"linus@example.com","name":"Linus","params":{"CODE":"A-18"}}
`;

const CSV = `externalId,phone,code
c-3,+12025550147,A-17
`;

export const appendRecipients: Operation = {
  id: 'addCampaignRecipients',
  access: { role: 'editor', scopes: ['campaigns'] },
  bound: 'imports',
  tag: 'Campaigns',
  summary: 'Add recipients to a campaign',
  description:
    'For audiences too large for one request: create the campaign with `start: false`, add its recipients, then start it. JSON of up to 10,000, or newline-delimited JSON or CSV of any length, read as fast as it can be stored; a line has at most 64 KiB. Each row is judged alone, as a row of an import is, and the answer is that of an import: its counts are of contacts. Possible while the campaign can be edited; once it has started the answer is `campaign_started`, and what was added before that stays. Adding the same rows again changes nothing, which is what to do when a connection broke. An `Idempotency-Key` is heeded for JSON.',
  parameters: { id: EXAMPLE.campaign, country: 'US' },
  body: {
    content: {
      'application/json': {
        schema: recipientsBody,
        shown: z.strictObject({ recipients: z.array(contactRow).max(LIMITS.contactsPerRequest) }),
        examples: {
          recipients: {
            recipients: [{ externalId: 'c-3', phone: '(202) 555-0147', params: { CODE: 'A-17' } }],
          },
        },
      },
      'application/x-ndjson': { schema: z.string(), examples: { lines: LINES } },
      'text/csv': { schema: z.string(), examples: { table: CSV } },
    },
  },
  answers: {
    200: json(
      'What became of the rows.',
      importedContacts,
      answered(200, 'Recipients added', {
        received: 1,
        created: 1,
        updated: 0,
        unchanged: 0,
        rejected: 0,
        errors: [],
      }),
    ),
  },
  errors: ['campaign_started'],
};

export const listRecipients: Operation = {
  id: 'listCampaignRecipients',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'List the recipients of a campaign',
  description: 'Of the current run or the one of `runId`, by channel and in the order in which they are due.',
  parameters: { id: EXAMPLE.campaign, channel: 'sms', limit: '100' },
  answers: {
    200: json('A page of recipients.', recipients, {
      ...answered(200, 'Recipients', [
        {
          id: `${EXAMPLE.run}.sms.0`,
          contactId: EXAMPLE.contact,
          channel: 'sms',
          address: '+12025550123',
          state: 'delivered',
          outcome: null,
          code: null,
          attempts: 1,
          uid: `${EXAMPLE.run}.sms.0.1`,
          dueAt: EXAMPLE.at,
          updatedAt: EXAMPLE.at,
        },
      ]),
      next: null,
      stopped: null,
    }),
  },
};
