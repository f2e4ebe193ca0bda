import { emptyBody } from '../../contracts/campaigns';
import { jsonBody, type RequestBody } from './operation';

export const NO_STORE = { 'cache-control': 'no-store' };
export const EMPTY: RequestBody = { ...jsonBody(emptyBody, { empty: {} }), optional: true };
export const paged = { page: '1', limit: '20' };

/**
 * Names and ids of the document's examples. All of them are about one bookshop, so that an id which one
 * answer gives is the one that another request sends.
 */
export const EXAMPLE = {
  workspace: 'ws_01kbnfk7cccccc8r3e6',
  user: 'usr_01kb3jt25h8r3t2ajt2',
  colleague: 'usr_01kbadsg0bzype6sbcc',
  client: 'cli_01kbg0g0bz3qvfk7bz3',
  apiKeyId: 'key_01kb4z3jg0g0g0g0g0b',
  apiKey: 'ffk_Zl2pGdV0kq4mY7uT1sXw9cBnR5jHe8aLoQv3iKfDz6E',
  clientSecret: 'ffs_q8Wn3LkJ5xTz0RbVc2YfHs7MdGp4AeUi9KoXtNyE1wB',
  token: 'fft_1bVn7KsXq4TzRk0YwLc9GmJd3HpAeUi8Fo2NtBx5yE6',
  inboundSecret: 'ffi_c5RkYh0TzQw8LmNb2VxJd9GsPf4AeUi7Ko3XtByE1n6',
  unsubscribeToken: 'aAbVn7KsXq4TzRk0YwLc9GmJd3HpAeUi8Fo2NtBx5yE6c5RkYh0TzQw8LmNb2VxJd9GsPf4AeUi7',
  password: 'vR7-kQ2mX9wTz4LcB1nYsDpG',
  ownPassword: 'q7Zt-mR4wXc9LbV2nYsKdPhG',
  totpSecret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
  totpCode: '492039',
  email: 'owner@harbour-books.example',
  smsTemplate: 'tpl_01kbjt2ajt25hdsg0gv',
  emailTemplate: 'tpl_01kbr8r8r8r3qvfk7bz',
  voiceTemplate: 'tpl_01kbz3jt258r8k7bt2a',
  list: 'lst_01kb1x4444444444z3q',
  contact: 'con_01kbn1x444zs7bz3z3q',
  campaign: 'cmp_01kb2dsg0bzype6sbcc',
  digest: '8f2b6c0e1d4a7f3985b0c2d6e9f1a3475d8c0b2e4f6a819c3d5e7f9a0b1c2d3e',
  send: 'snd_01kbq4m8c2v6z0x1n5t',
  run: 'run_01kbt2ajtx95hdmmmf9',
  smsMessage: 'msg_01kbsnwwwwwwwwwwwww',
  emailMessage: 'msg_01kbjn15hdmmfk2adsn',
  voiceMessage: 'msg_01kbmmfkfk7b0g0g0g0',
  testMessage: 'msg_01kbp7x3m0c2z4v6b8n',
  callToken: 'Y2FsbHMgYXJlIGtub3duIGJ5IHRva2Vu',
  account: 'acc_01kbv5n2c8t4z0x6m9q',
  registeredSender: 'snr_01kbv6p2c8t4z0x6m9q',
  webhook: 'whk_01kbw3m8q2v6x0z4c9n',
  webhookDelivery: 'whd_01kbw4p6r0t8y2z5c7m',
  webhookSecret: 'whsec_Qk3n8VbZl2yTzR1mWc7fHxJd5GpAeUi9oKtLwNyE4s0=',
  session: 'ses_5d1b3e7f9a2c4e8f9a7c0f3e6c1a2b4d',
  auditEntry: 'aud_01kbx8m2q6v0t4z1c9n',
  suppression: 'sup_01kbg0g0g0gv6ype6sn',
  /** A cursor of the event feed; its form may change. */
  feedCursor: 'e1kb7zq2m4x',
  at: '2026-11-21T10:15:00.000Z',
} as const;

export const answered = <Data>(status: number, message: string, data: Data) => ({
  result: 'success' as const,
  status,
  message,
  data,
});

export const page = (total: number) => ({ page: 1, limit: 20, total });
