import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks';
import type { EXAMPLE } from '../../src/http/openapi/examples';
import { PUBLIC_URL, VENDOR_TOKEN } from './whole-api';

/**
 * Every operation of the document, in an order in which its example makes sense: first what makes a thing,
 * last what takes it away. A step sends one documented request and says which documented status it expects.
 */
export interface Step {
  operation: string;
  /** Of the request body, by name; the first one unless said. */
  example?: string;
  contentType?: string;
  status: number;
  /** Query parameters whose example makes no sense yet. */
  without?: string[];
  /** In the place of the example's. */
  parameters?: Record<string, string>;
  headers?: Record<string, string>;
  /** Where the answer holds what an example names, if the documented answer does not show it. */
  learn?: Partial<Record<keyof typeof EXAMPLE, string>>;
  /** Something the API cannot do by itself, done before the step. */
  first?:
    | 'wait until all is sent'
    | 'freeze the audience'
    | 'end the run'
    | 'offer the send'
    | 'call the send back'
    | 'read the code of the moment';
}

/** A request of a vendor about nothing: its address alone is signed. */
function signed(path: string): Pick<Step, 'parameters' | 'headers'> {
  const signature = getExpectedTwilioSignature(VENDOR_TOKEN, PUBLIC_URL + path, {});
  return { parameters: { account: 'vendor' }, headers: { 'x-twilio-signature': signature } };
}

export const STORY: Step[] = [
  { operation: 'readHealth', status: 200 },
  { operation: 'readReadiness', status: 200 },
  { operation: 'readMetrics', status: 200 },
  { operation: 'readDocument', status: 200 },
  { operation: 'readReference', status: 200 },
  { operation: 'readErrors', status: 200, headers: { accept: 'text/html' } },
  { operation: 'readErrors', status: 200, headers: { accept: 'application/json' } },
  { operation: 'readAsset', status: 200 },
  { operation: 'readAsset', status: 200, parameters: { file: 'reference.js' } },

  { operation: 'createWorkspace', status: 201 },
  { operation: 'listWorkspaces', status: 200 },
  { operation: 'logIn', status: 200 },
  { operation: 'whoAmI', status: 200 },
  { operation: 'listOwnSessions', status: 200, learn: { session: 'data.0.id' } },
  { operation: 'endOwnSession', status: 200 },
  { operation: 'changeOwnPassword', status: 200 },
  { operation: 'changeOwnPassword', example: 'back', status: 200 },
  { operation: 'setUpTotp', status: 200 },
  { operation: 'setUpTotp', example: 'confirm', status: 200, first: 'read the code of the moment' },
  { operation: 'turnOffTotp', status: 200 },
  { operation: 'beginOidcLogIn', status: 404 },
  { operation: 'finishOidcLogIn', status: 404 },
  { operation: 'createToken', status: 200 },
  { operation: 'revokeToken', status: 200 },
  { operation: 'revokeToken', contentType: 'application/x-www-form-urlencoded', status: 200 },

  { operation: 'createAccount', status: 201 },
  { operation: 'listAccounts', status: 200 },
  { operation: 'getAccount', status: 200 },
  { operation: 'changeAccount', status: 200 },
  { operation: 'reopenSenders', status: 200 },
  { operation: 'checkAccount', status: 200 },
  { operation: 'putRoutes', status: 200 },
  { operation: 'getRoutes', status: 200 },
  { operation: 'putRoutes', example: 'none', status: 200 },
  { operation: 'deleteAccount', status: 200 },
  { operation: 'registerSender', status: 201 },
  { operation: 'listSenders', status: 200 },
  { operation: 'deleteSender', status: 200 },
  { operation: 'readInstallation', status: 200 },
  { operation: 'createUser', status: 201 },
  { operation: 'listUsers', status: 200 },
  { operation: 'changeUser', status: 200 },
  { operation: 'resetPassword', status: 200 },
  { operation: 'resetTotp', status: 200 },
  { operation: 'disableUser', status: 200 },
  { operation: 'enableUser', status: 200 },
  { operation: 'createClient', status: 201 },
  { operation: 'listClients', status: 200 },
  { operation: 'rotateSecret', status: 200 },
  { operation: 'disableClient', status: 200 },
  { operation: 'enableClient', status: 200 },
  { operation: 'createApiKey', status: 201 },
  { operation: 'listApiKeys', status: 200 },
  { operation: 'revokeApiKey', status: 200 },

  { operation: 'createTemplate', example: 'sms', status: 201 },
  { operation: 'createTemplate', example: 'email', status: 201, learn: { emailTemplate: 'template.id' } },
  { operation: 'createTemplate', example: 'voice', status: 201, learn: { voiceTemplate: 'template.id' } },
  { operation: 'listTemplates', status: 200 },
  { operation: 'readTemplate', status: 200 },
  { operation: 'listTemplateVersions', status: 200 },
  { operation: 'previewTemplate', status: 200 },
  { operation: 'sendTestMessage', status: 202 },

  { operation: 'setSenderLimit', status: 200 },
  { operation: 'listSenderLimits', status: 200 },
  { operation: 'liftSenderLimit', status: 200 },

  { operation: 'readPolicy', status: 200 },
  { operation: 'setPolicy', example: 'whole', status: 200 },
  { operation: 'setPolicy', example: 'preset', status: 200 },
  { operation: 'setPolicy', example: 'off', status: 200 },

  { operation: 'beginStop', status: 200 },
  { operation: 'readStop', status: 200 },
  { operation: 'endStop', status: 200 },

  { operation: 'holdMessages', status: 200 },
  { operation: 'readHold', status: 200 },
  { operation: 'sendMessage', example: 'sms', status: 202 },
  { operation: 'sendMessage', example: 'sms', status: 200 },
  { operation: 'sendMessage', example: 'email', status: 202 },
  { operation: 'sendMessage', example: 'voice', status: 202 },
  { operation: 'sendMessages', status: 207 },
  { operation: 'readOutbox', status: 200 },
  { operation: 'checkSending', status: 200 },
  { operation: 'listMessages', status: 200 },
  { operation: 'trackMessage', status: 200 },
  { operation: 'readStories', status: 200 },
  { operation: 'readEvents', status: 200, without: ['after'] },
  { operation: 'cancelMessage', status: 200 },
  { operation: 'readEvents', status: 200 },
  { operation: 'trackMessage', status: 200 },
  { operation: 'releaseMessages', status: 200 },
  { operation: 'showUnsubscribePage', status: 200 },
  { operation: 'unsubscribeByLink', status: 200 },
  {
    operation: 'unsubscribeByLink',
    contentType: 'application/x-www-form-urlencoded',
    status: 200,
    headers: { accept: 'text/html' },
  },
  {
    operation: 'unsubscribeByLink',
    contentType: 'application/x-www-form-urlencoded',
    example: 'resubscribe',
    status: 200,
  },
  { operation: 'reportReceipts', example: 'receipt', status: 200 },
  { operation: 'reportReceipts', example: 'several', status: 200 },
  { operation: 'reportByKannel', status: 200, without: ['from', 'to', 'text'] },
  { operation: 'reportByKannelPosted', status: 200, without: ['dlr', 'answer', 'time'] },
  { operation: 'reportByVendor', status: 200, ...signed('/inbound/twilio/vendor') },
  { operation: 'reportByVendorPosted', status: 200, ...signed('/inbound/twilio/vendor') },
  { operation: 'readCallDocument', status: 200 },
  { operation: 'readCallDocumentPosted', status: 200 },
  {
    operation: 'trackMessage',
    status: 200,
    parameters: { uid: 'order-4711-receipt' },
    first: 'wait until all is sent',
  },
  { operation: 'listMessages', status: 200, without: ['channel', 'state', 'campaign'] },
  { operation: 'readEvents', status: 200, without: ['after'] },

  { operation: 'addSuppression', status: 201 },
  { operation: 'addSuppression', status: 200 },
  { operation: 'addSuppression', contentType: 'text/csv', status: 200 },
  { operation: 'listSuppressions', status: 200 },
  { operation: 'exportSuppressions', status: 200 },
  { operation: 'liftSuppression', status: 200 },

  { operation: 'createWebhook', status: 201 },
  { operation: 'listWebhooks', status: 200 },
  { operation: 'readWebhook', status: 200 },
  { operation: 'changeWebhook', status: 200 },
  { operation: 'testWebhook', status: 202 },
  { operation: 'listWebhookDeliveries', status: 200, without: ['cursor'] },
  { operation: 'redeliverWebhookDelivery', status: 202 },
  { operation: 'redeliverFailedDeliveries', status: 202 },
  { operation: 'rotateWebhookSecret', status: 200 },

  { operation: 'createContactList', status: 201 },
  { operation: 'listContactLists', status: 200 },
  { operation: 'importContacts', status: 200 },
  { operation: 'importContacts', contentType: 'text/csv', status: 200 },
  { operation: 'readContactList', status: 200 },
  { operation: 'listContacts', status: 200 },

  { operation: 'dryRunCampaign', example: 'try', status: 200 },
  { operation: 'dryRunCampaign', example: 'tryTrigger', status: 200 },
  { operation: 'createCampaign', example: 'create', status: 201 },
  { operation: 'createCampaign', example: 'edit', status: 200 },
  { operation: 'createCampaign', example: 'trigger', status: 201 },
  { operation: 'addCampaignRecipients', status: 200 },
  { operation: 'addCampaignRecipients', contentType: 'application/x-ndjson', status: 200 },
  { operation: 'addCampaignRecipients', contentType: 'text/csv', status: 200 },
  { operation: 'duplicateCampaign', status: 201 },
  { operation: 'listCampaigns', status: 200 },
  { operation: 'readCampaign', status: 200 },
  { operation: 'readCampaignDigest', status: 200 },
  { operation: 'approveCampaign', status: 200 },
  { operation: 'startCampaign', status: 200 },
  { operation: 'pauseCampaign', status: 200 },
  { operation: 'retryFailedRecipients', status: 200 },
  { operation: 'retryFailedRecipients', example: 'codes', status: 200 },
  { operation: 'resumeCampaign', status: 200 },
  { operation: 'releaseCampaign', status: 200 },
  { operation: 'readCampaign', status: 200, first: 'freeze the audience' },
  { operation: 'listCampaignRuns', status: 200 },
  { operation: 'listCampaignRecipients', status: 200 },
  { operation: 'explainRecipient', status: 200 },
  { operation: 'explainPerson', status: 200, without: ['to', 'channel', 'runId'] },
  { operation: 'listSkippedContacts', status: 200, without: ['cursor'] },
  { operation: 'exportSkippedContacts', status: 200 },
  { operation: 'readCampaignOutcomes', status: 200 },
  { operation: 'readCampaignTimeline', status: 200 },
  { operation: 'readOverview', status: 200 },
  { operation: 'findContacts', status: 200, without: ['search', 'cursor'] },
  { operation: 'readContact', status: 200 },
  { operation: 'changeContact', status: 200 },
  { operation: 'exportContact', status: 200 },
  { operation: 'readContactTimeline', status: 200, without: ['cursor'] },
  { operation: 'changeCampaign', status: 200 },
  { operation: 'changeCampaign', example: 'tags', status: 200 },
  { operation: 'exportCampaignRecipients', status: 200 },
  { operation: 'summarizeCampaignCalls', status: 200 },
  { operation: 'exportCampaignCalls', status: 200 },
  { operation: 'cancelCampaign', status: 200 },
  { operation: 'watchCampaign', status: 200, first: 'end the run' },

  { operation: 'createDurableSend', example: 'sms', status: 202 },
  { operation: 'createDurableSend', example: 'voice', status: 202 },
  { operation: 'readDurableSend', status: 200 },
  { operation: 'cancelDurableSend', status: 202, first: 'offer the send' },
  { operation: 'cancelDurableSend', status: 200, first: 'call the send back' },

  { operation: 'deleteWebhook', status: 200 },
  { operation: 'replaceTemplate', status: 200 },
  { operation: 'archiveTemplate', status: 200 },
  { operation: 'removeContact', status: 200 },
  { operation: 'eraseContact', status: 202 },
  { operation: 'renameContactList', status: 200 },
  { operation: 'deleteContactList', status: 200 },
  { operation: 'listAudit', status: 200 },
  { operation: 'readAuditChain', status: 200 },
  { operation: 'logOut', status: 200 },
];
