import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '../../audit/actions';
import type { Json } from '../../audit/canonical-json';

/** How an operation appears in the audit log (docs/audit.md). */
export interface AuditRule {
  action: AuditAction;
  object: string;
  /** Where the object's id is: a parameter of the path, or the caller's own workspace or user. Default: `id`. */
  of?: 'campaign' | 'workspace' | 'user' | 'nothing';
  /** Prefix of the id that the operation makes for its object. */
  makes?: string;
  /** The body's member that names an existing object; then it is this action. */
  edits?: { member: string; action: AuditAction };
  /** With this member of the body it is this action. */
  confirms?: { member: string; action: AuditAction };
  /** What else is written: ids, choices from a closed list, and names of members, never their free text. */
  detail?: (request: FastifyRequest) => Record<string, Json>;
}

/** Why an operation that is not a reading one writes no entry, or writes it by itself. */
export interface NotAudited {
  because: string;
}

const MESSAGE: NotAudited = { because: 'a single message; its own record and events tell of it' };
const CHANGES_NOTHING: NotAudited = { because: 'it changes nothing' };
const FROM_OUTSIDE: NotAudited = { because: 'no caller of the API: a carrier or a recipient reports' };
const BY_ITSELF: NotAudited = { because: 'its caller is known only afterwards; it writes the entry itself' };

/** Every operation that is not a reading one, by its `operationId`. A test looks for those that are missing. */
export const AUDITED_OPERATIONS: Record<string, AuditRule | NotAudited> = {
  logIn: BY_ITSELF,
  createToken: BY_ITSELF,
  revokeToken: BY_ITSELF,
  changeOwnPassword: { action: 'session.password', object: 'user', of: 'user' },
  endOwnSession: { action: 'session.revoke', object: 'session' },
  setUpTotp: {
    action: 'totp.begin',
    object: 'user',
    of: 'user',
    confirms: { member: 'code', action: 'totp.enable' },
  },
  turnOffTotp: { action: 'totp.disable', object: 'user', of: 'user' },
  resetTotp: { action: 'totp.reset', object: 'user' },
  logOut: { action: 'session.logout', object: 'user', of: 'user' },

  createUser: { action: 'user.create', object: 'user', makes: 'usr', detail: choice('role') },
  changeUser: { action: 'user.change', object: 'user', detail: choice('role') },
  disableUser: { action: 'user.disable', object: 'user' },
  enableUser: { action: 'user.enable', object: 'user' },
  resetPassword: { action: 'user.password', object: 'user' },
  createClient: { action: 'client.create', object: 'client', makes: 'cli', detail: fields },
  rotateSecret: { action: 'client.rotate', object: 'client', detail: fields },
  disableClient: { action: 'client.disable', object: 'client' },
  enableClient: { action: 'client.enable', object: 'client' },
  createApiKey: { action: 'key.create', object: 'key', makes: 'key', detail: fields },
  revokeApiKey: { action: 'key.revoke', object: 'key' },
  createWorkspace: { action: 'workspace.create', object: 'workspace', makes: 'ws' },

  createAccount: { action: 'account.create', object: 'account', makes: 'acc', detail: fields },
  changeAccount: { action: 'account.change', object: 'account', detail: fields },
  deleteAccount: { action: 'account.delete', object: 'account' },
  reopenSenders: { action: 'account.reopen', object: 'account', detail: channel },
  checkAccount: { because: 'it connects and changes nothing' },
  putRoutes: { action: 'routes.change', object: 'routes', of: 'nothing' },
  registerSender: { action: 'sender.register', object: 'sender', makes: 'snr', detail: channel },
  deleteSender: { action: 'sender.delete', object: 'sender' },
  setSenderLimit: { action: 'sender-limit.set', object: 'sender-limit', of: 'nothing', detail: channel },
  liftSenderLimit: { action: 'sender-limit.lift', object: 'sender-limit', of: 'nothing', detail: channel },

  changeContact: { action: 'contact.change', object: 'contact', detail: fields },
  eraseContact: { action: 'contact.erase', object: 'contact' },
  createContactList: { action: 'contact-list.create', object: 'contact-list', makes: 'lst' },
  renameContactList: { action: 'contact-list.change', object: 'contact-list', detail: fields },
  deleteContactList: { action: 'contact-list.delete', object: 'contact-list' },
  importContacts: { action: 'contact-list.import', object: 'contact-list' },
  removeContact: { action: 'contact-list.remove', object: 'contact-list', detail: parameter('contactId') },

  createTemplate: { action: 'template.create', object: 'template', makes: 'tpl', detail: choice('channel') },
  replaceTemplate: { action: 'template.change', object: 'template' },
  archiveTemplate: { action: 'template.archive', object: 'template' },
  previewTemplate: CHANGES_NOTHING,
  sendTestMessage: MESSAGE,

  createCampaign: {
    action: 'campaign.create',
    object: 'campaign',
    makes: 'cmp',
    edits: { member: 'campaignId', action: 'campaign.edit' },
  },
  dryRunCampaign: CHANGES_NOTHING,
  changeCampaign: { action: 'campaign.change', object: 'campaign', detail: fields },
  addCampaignRecipients: { action: 'campaign.recipients', object: 'campaign' },
  duplicateCampaign: {
    action: 'campaign.duplicate',
    object: 'campaign',
    makes: 'cmp',
    detail: parameter('id', 'from'),
  },
  approveCampaign: { action: 'campaign.approve', object: 'campaign' },
  startCampaign: { action: 'campaign.start', object: 'campaign' },
  pauseCampaign: { action: 'campaign.pause', object: 'campaign' },
  resumeCampaign: { action: 'campaign.resume', object: 'campaign' },
  cancelCampaign: { action: 'campaign.cancel', object: 'campaign' },
  releaseCampaign: { action: 'campaign.release', object: 'campaign' },
  retryFailedRecipients: { action: 'campaign.retry-failed', object: 'campaign', detail: fields },

  sendMessage: MESSAGE,
  sendMessages: MESSAGE,
  cancelMessage: MESSAGE,
  createDurableSend: MESSAGE,
  cancelDurableSend: MESSAGE,
  holdMessages: { action: 'hold.put', object: 'hold', of: 'campaign' },
  releaseMessages: { action: 'hold.release', object: 'hold', of: 'campaign' },

  addSuppression: { action: 'suppression.add', object: 'suppression', makes: 'sup', detail: channel },
  liftSuppression: { action: 'suppression.lift', object: 'suppression', of: 'nothing', detail: channel },
  unsubscribeByLink: FROM_OUTSIDE,
  setPolicy: { action: 'policy.change', object: 'policy', of: 'workspace', detail: fields },
  beginStop: { action: 'stop.begin', object: 'workspace', of: 'workspace' },
  endStop: { action: 'stop.end', object: 'workspace', of: 'workspace' },

  createWebhook: { action: 'webhook.create', object: 'webhook', makes: 'whk' },
  changeWebhook: { action: 'webhook.change', object: 'webhook', detail: fields },
  deleteWebhook: { action: 'webhook.delete', object: 'webhook' },
  rotateWebhookSecret: { action: 'webhook.rotate', object: 'webhook' },
  testWebhook: { action: 'webhook.test', object: 'webhook' },
  redeliverWebhookDelivery: {
    action: 'webhook.redeliver',
    object: 'webhook',
    detail: parameter('deliveryId'),
  },
  redeliverFailedDeliveries: { action: 'webhook.redeliver', object: 'webhook' },

  reportReceipts: FROM_OUTSIDE,
  reportByKannelPosted: FROM_OUTSIDE,
  reportByVendorPosted: FROM_OUTSIDE,
  readCallDocumentPosted: FROM_OUTSIDE,
};

/** A member's name is written where it can be one of the contract's; anything else may be an address. */
const MEMBER = /^[A-Za-z]{1,40}$/;

function membersOf({ body }: FastifyRequest): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? (body as Record<string, unknown>)
    : {};
}

/** Names of what was given, without the values. */
function fields(request: FastifyRequest): Record<string, Json> {
  const names = Object.keys(membersOf(request)).filter((name) => MEMBER.test(name));
  return names.length === 0 ? {} : { fields: names.sort() };
}

/** A member whose value comes from a closed list. */
function choice(member: string): (request: FastifyRequest) => Record<string, Json> {
  return (request) => {
    const value = membersOf(request)[member];
    return typeof value === 'string' && value.length <= 40 ? { [member]: value } : {};
  };
}

function channel(request: FastifyRequest): Record<string, Json> {
  const { channel: queried } = request.query as { channel?: unknown };
  return typeof queried === 'string' ? { channel: queried } : choice('channel')(request);
}

function parameter(name: string, as = name): (request: FastifyRequest) => Record<string, Json> {
  return ({ params }) => ({ [as]: String((params as Record<string, unknown>)[name]) });
}
