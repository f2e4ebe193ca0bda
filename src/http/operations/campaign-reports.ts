import { z } from 'zod';
import type { Operation } from '../operation';
import { EXAMPLE } from './examples';

const HEADER = 'contactId,channel,address,state,outcome,code,attempts,uid,updatedAt\r\n';

export const exportRecipients: Operation = {
  id: 'exportRecipients',
  tag: 'Campaigns',
  summary: 'Export the recipients of a campaign',
  description:
    'Of the current run, by channel and in the order in which they are due; streamed, whatever their number. Values stand as they are: to open the file in a spreadsheet, import it with every column as text.',
  parameters: { id: EXAMPLE.campaign, channel: 'sms' },
  answers: {
    200: {
      description: 'All that match.',
      content: {
        'text/csv': {
          schema: z
            .string()
            .regex(/^contactId,channel,address,state,outcome,code,attempts,uid,updatedAt\r\n/),
          example: `${HEADER}${EXAMPLE.contact},sms,+12025550123,delivered,,,1,${EXAMPLE.run}.sms.0.1,${EXAMPLE.at}\r\n`,
        },
      },
      headers: { 'content-disposition': 'A name for the file.' },
    },
  },
};
