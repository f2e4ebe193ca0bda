import { accountBody, accountChange } from '../../contracts/accounts';
import {
  accounts,
  checkedAccount,
  deletedAccount,
  deletedSender,
  oneAccount,
  oneSender,
  routes,
  senders,
} from '../../contracts/answers/carriers';
import { routesBody } from '../../contracts/routes';
import { senderBody } from '../../contracts/senders';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const tag = 'Carriers';
const ONE = { tag, parameters: { id: EXAMPLE.account } } as const;

const ACCOUNT = {
  id: EXAMPLE.account,
  name: 'Second SMS carrier',
  kind: 'http' as const,
  channels: ['sms' as const],
  settings: { url: 'https://carrier.example/send', idempotent: true },
  secrets: ['headers'],
  workspaces: ['*'],
  ratePerSecond: 50,
  disabled: false,
  source: 'api' as const,
  state: 'ok' as const,
  since: EXAMPLE.at,
};

export const listAccounts: Operation = {
  id: 'listAccounts',
  tag,
  summary: 'List accounts at carriers',
  description:
    'Those of the environment (`default-email`, `default-sms`, `default-voice`) come first. `state` is what the process that answers knows.',
  answers: { 200: json('All of them.', accounts, answered(200, 'Accounts', [ACCOUNT])) },
};

export const createAccount: Operation = {
  id: 'createAccount',
  tag,
  summary: 'Create an account at a carrier',
  description:
    'Used within 5 seconds by every process, as soon as a route names it. The secrets are sealed; no answer shows them again.',
  body: jsonBody(accountBody, {
    http: {
      name: ACCOUNT.name,
      kind: 'http',
      channels: ['sms'],
      settings: ACCOUNT.settings,
      secrets: { headers: { authorization: 'Bearer c4rr13r-t0k3n' } },
      ratePerSecond: 50,
    },
  }),
  answers: { 201: json('Created.', oneAccount, answered(201, 'Account created', ACCOUNT)) },
  errors: ['limit_reached', 'dependency_down'],
};

export const getAccount: Operation = {
  ...ONE,
  id: 'getAccount',
  summary: 'Read an account',
  description:
    'With its state in the process that answers, and the names of the secrets that are set, never their values.',
  answers: { 200: json('The account.', oneAccount, answered(200, 'Account', ACCOUNT)) },
};

export const changeAccount: Operation = {
  ...ONE,
  id: 'changeAccount',
  summary: 'Change an account',
  description:
    'Members of `settings` and `secrets` are changed one by one; null takes one away. A refused account is tried at once.',
  body: jsonBody(accountChange, { slower: { ratePerSecond: 20 } }),
  answers: {
    200: json('Changed.', oneAccount, answered(200, 'Account changed', { ...ACCOUNT, ratePerSecond: 20 })),
  },
  errors: ['environment_account', 'dependency_down'],
};

export const deleteAccount: Operation = {
  ...ONE,
  id: 'deleteAccount',
  summary: 'Delete an account',
  description: 'What its carrier reports later is taken for 7 days more.',
  answers: {
    200: json('Deleted.', deletedAccount, answered(200, 'Account deleted', { id: EXAMPLE.account })),
  },
  errors: ['environment_account', 'account_routed', 'account_busy'],
};

export const checkAccount: Operation = {
  ...ONE,
  id: 'checkAccount',
  summary: 'See whether an account’s carrier can be reached',
  description: 'Connects and sends nothing. If it connects, a refused account is tried at once.',
  answers: {
    200: json(
      'What was found.',
      checkedAccount,
      answered(200, 'Connected', { ok: true, detail: 'carrier.example:443: connected' }),
    ),
  },
};

const ROUTES = {
  routes: [
    { channel: 'sms' as const, toPrefix: '+44', accounts: [{ account: EXAMPLE.account }] },
    {
      channel: 'sms' as const,
      accounts: [
        { account: 'default-sms', weight: 3 },
        { account: EXAMPLE.account, weight: 1 },
      ],
      failover: true,
    },
  ],
};

export const getRoutes: Operation = {
  id: 'getRoutes',
  tag,
  summary: 'Read the routes',
  description: 'In the order in which they are matched; of a message the first that matches decides.',
  answers: { 200: json('In their order.', routes, answered(200, 'Routes', ROUTES)) },
};

export const putRoutes: Operation = {
  id: 'putRoutes',
  tag,
  summary: 'Replace the routes',
  description:
    'The first route that matches a message decides by which account it leaves; without one, its channel’s default account does. In force within 5 seconds on every process, also for messages that wait.',
  body: jsonBody(routesBody, { byCountry: ROUTES, none: { routes: [] } }),
  answers: { 200: json('In force.', routes, answered(200, 'Routes in force', ROUTES)) },
};

const SENDER = {
  id: EXAMPLE.registeredSender,
  workspace: EXAMPLE.workspace,
  channel: 'sms' as const,
  sender: 'Bookshop',
};

export const listSenders: Operation = {
  id: 'listSenders',
  tag,
  summary: 'List registered senders',
  description: 'Of all workspaces of the installation, in the order in which they were registered.',
  answers: { 200: json('All of them.', senders, answered(200, 'Senders', [SENDER])) },
};

export const registerSender: Operation = {
  id: 'registerSender',
  tag,
  summary: 'Register a sender for a workspace',
  description:
    'Within 5 seconds every other workspace gets 422 `sender_not_allowed` for it. Of email the sender is a domain, without its subdomains, and its mail is signed with `dkim`. Registered again for the same workspace, it has the new key, or none.',
  body: jsonBody(senderBody, {
    name: { workspace: EXAMPLE.workspace, channel: 'sms', sender: SENDER.sender },
  }),
  answers: { 201: json('Registered.', oneSender, answered(201, 'Sender registered', SENDER)) },
  errors: ['sender_taken', 'limit_reached', 'dependency_down'],
};

export const deleteSender: Operation = {
  tag,
  parameters: { id: EXAMPLE.registeredSender },
  id: 'deleteSender',
  summary: 'Delete a registered sender',
  description: 'It belongs to no workspace any more, and in the mode `open` every workspace may use it.',
  answers: {
    200: json('Deleted.', deletedSender, answered(200, 'Sender deleted', { id: EXAMPLE.registeredSender })),
  },
};
