import { z } from 'zod';
import {
  alive,
  errorCatalogue,
  openApiDocument,
  ready,
  takenReceipts,
} from '../../contracts/answers/service';
import { inboundBody, inboundEntry } from '../../contracts/inbound';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

export const healthz: Operation = {
  id: 'readHealth',
  tag: 'Operation',
  summary: 'Tell that the process is alive',
  description:
    'Answers as long as the process can answer at all, and looks at nothing else: a restart helps when it does not. For what the process depends on, ask `/readyz`.',
  answers: { 200: json('Alive.', alive, { status: 'ok' }) },
};

export const readyz: Operation = {
  id: 'readReadiness',
  tag: 'Operation',
  summary: 'Tell whether everything is there',
  description:
    'What the process depends on, each by name. Until all of it is there, 503 says what is missing.',
  answers: {
    200: json('Ready.', ready, {
      status: 'ready',
      checks: { database: true },
      accounts: [{ channel: 'sms', kind: 'http', account: 'default-sms', state: 'ok' }],
    }),
  },
  errors: ['dependency_down'],
};

export const readMetrics: Operation = {
  id: 'readMetrics',
  tag: 'Operation',
  summary: 'Read what the process counts',
  description:
    'For Prometheus. Open to whoever asks from the same machine and not through a proxy; from elsewhere, a Bearer token is needed.',
  answers: {
    200: {
      description: 'The text format of Prometheus.',
      content: {
        'text/plain': {
          schema: z.string(),
          example: 'fanfare_messages_total{channel="sms",state="sent"} 12000\n',
        },
      },
    },
  },
};

export const reportReceipts: Operation = {
  id: 'reportReceipts',
  tag: 'Provider callbacks',
  summary: 'Report what became of messages',
  description: `For the carrier behind the HTTP provider: one object or an array of them, in any order, as often as it likes and as early as it likes, even before its answer to the hand-over. Known by the secret in the path.

- A receipt names its message by \`id\`, the one that came with the hand-over, or by \`providerId\`, the one the carrier answered with. Its \`type\` is \`delivered\`, \`undelivered\`, \`failed\`, \`expired\` or \`rejected\`, and of a call also \`ringing\`, \`answered\`, \`machine\`, \`human\`, \`digits\`, \`recording\`, \`completed\`, \`busy\`, \`no_answer\` or \`canceled\`.
- An SMS from a subscriber has the type \`inbound\`.

200 means taken and stored. Entries that are wrong are named in a 422, and the others are taken nevertheless; telling all of them again changes nothing.`,
  parameters: { secret: EXAMPLE.inboundSecret },
  body: jsonBody(
    inboundBody,
    {
      receipt: { id: EXAMPLE.smsMessage, type: 'delivered', at: EXAMPLE.at },
      several: [
        { providerId: 'carrier-17', type: 'completed', data: { answeredBy: 'human', durationMs: 14_200 } },
        { type: 'inbound', id: 'carrier-18', from: '+12025550123', to: '12345', text: 'STOP' },
      ],
    },
    z.union([inboundEntry, z.array(inboundEntry)]),
  ),
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 1, inbound: 0 })) },
  errors: ['overloaded', 'dependency_down'],
};

export const reportByKannel: Operation = {
  id: 'reportByKannel',
  tag: 'Provider callbacks',
  summary: 'Report by Kannel',
  description: `For Kannel, everything in the query. With \`dlr\` it is a receipt, of the kind that \`%d\` gives, about the message \`id\`; Kannel is given the address with every message. Without, it is what a subscriber has written, for the \`get-url\` of an \`sms-service\`: \`?from=%p&to=%P&text=%a&id=%I&time=%T\`. Known by the secret in the path.

200 means taken and stored. Telling it again changes nothing.`,
  parameters: {
    secret: EXAMPLE.inboundSecret,
    id: EXAMPLE.smsMessage,
    dlr: '1',
    answer: 'id:17 sub:001 dlvrd:001 stat:DELIVRD err:000',
    time: '1795255200',
  },
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 1, inbound: 0 })) },
  errors: ['overloaded', 'dependency_down'],
};

export const reportByKannelPosted: Operation = {
  ...reportByKannel,
  id: 'reportByKannelPosted',
  description: 'The same as by GET, for a Kannel that posts; the body is passed over.',
  parameters: {
    secret: EXAMPLE.inboundSecret,
    id: 'kannel-18',
    from: '+12025550123',
    to: '12345',
    text: 'STOP',
  },
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 0, inbound: 1 })) },
};

export const reportByVendor: Operation = {
  id: 'reportByVendor',
  tag: 'Provider callbacks',
  summary: 'Report by a vendor',
  description: `For Twilio and other carriers with an API of their own: \`kind\` is the account's, \`account\` its id. Status of messages and calls, and what subscribers write, in the vendor's own form and with its own signature, which covers the address: it is compared with \`FANFARE_PUBLIC_URL\`, path and query.

403 for a signature that is not the account's. Telling it again changes nothing, and it may come before the answer to what it is about.`,
  parameters: { kind: 'twilio', account: EXAMPLE.account },
  answers: {
    200: {
      description: 'Taken and stored, in the form that the vendor expects.',
      content: {
        'text/xml': { schema: z.string(), example: '<?xml version="1.0" encoding="UTF-8"?><Response/>' },
      },
    },
  },
  errors: ['forbidden', 'not_found', 'overloaded', 'dependency_down'],
};

export const reportByVendorPosted: Operation = {
  ...reportByVendor,
  id: 'reportByVendorPosted',
  description: 'The same, with the fields in the body, as vendors do it unless they are told otherwise.',
};

export const readCallDocument: Operation = {
  id: 'readCallDocument',
  tag: 'Provider callbacks',
  summary: 'Go on with a call',
  description: `For vendors that make calls by documents: what the call says next. Each document names the address of the next one; the same request again is the same document. Without a signature it is served, because only the vendor knows the token; a wrong signature is 403. 10 minutes after the call's end it is gone.`,
  parameters: { token: EXAMPLE.callToken, step: 'start' },
  answers: {
    200: {
      description: 'The next step, in the language of the vendor.',
      content: {
        'text/xml': {
          schema: z.string(),
          example: '<?xml version="1.0" encoding="UTF-8"?><Response><Say>Hello</Say></Response>',
        },
      },
    },
  },
  errors: ['forbidden', 'not_found', 'overloaded', 'dependency_down'],
};

export const readCallDocumentPosted: Operation = {
  ...readCallDocument,
  id: 'readCallDocumentPosted',
  description: 'The same, with what the callee entered in the body.',
};

export const readDocument: Operation = {
  id: 'readDocument',
  tag: 'Documentation',
  summary: 'Read this document',
  description:
    'Made of the routes of this process when it starts: what is not in it does not exist, but for HEAD, which answers wherever GET does.',
  answers: {
    200: json('OpenAPI 3.1.', openApiDocument, {
      openapi: '3.1.1',
      info: { title: 'Fanfare', version: '0.1.0' },
      paths: {},
    }),
  },
};

const html = z.string().regex(/^<!doctype html>/i);

export const readReference: Operation = {
  id: 'readReference',
  tag: 'Documentation',
  summary: 'Browse this document',
  description:
    'The reference for people, with every operation, its examples and its errors. It loads nothing from elsewhere.',
  answers: {
    200: {
      description: 'A page that needs nothing but this service.',
      content: { 'text/html': { schema: html, example: '<!doctype html><title>Fanfare API</title>' } },
      headers: { 'content-security-policy': 'Nothing from any other host.' },
    },
  },
};

export const readAsset: Operation = {
  id: 'readAsset',
  tag: 'Documentation',
  summary: 'Get a file of the reference page',
  description: 'What the reference page loads. For browsers.',
  parameters: { file: 'reference.css' },
  answers: {
    200: {
      description: 'Style or script.',
      content: {
        'text/css': { schema: z.string(), example: 'body { margin: 0; }' },
        'text/javascript': { schema: z.string(), example: 'addEventListener("load", () => {});' },
      },
    },
  },
  errors: ['not_found'],
};

export const readErrors: Operation = {
  id: 'readErrors',
  tag: 'Documentation',
  summary: 'Read the catalogue of errors',
  description:
    'A page with an anchor for each code, which is where the `type` of a problem points; or JSON, for who accepts that and no HTML.',
  answers: {
    200: {
      description: 'Every code, with its status and whether repeating the call may help.',
      content: {
        'text/html': { schema: html, example: '<!doctype html><title>Errors</title>' },
        'application/json': {
          schema: errorCatalogue,
          example: {
            errors: [
              { code: 'invalid_request', title: 'Request is not valid', status: 422, retry: 'permanent' },
            ],
          },
        },
      },
    },
  },
};
