import type { z } from 'zod';
import type { Progress } from '../../src/campaigns/progress-feed';
import type {
  AcceptedMessage,
  BulkResult,
  CallSummary,
  Campaign,
  CampaignDigest,
  CampaignInput,
  CampaignProgress,
  CampaignRun,
  CampaignSummary,
  Contact,
  ContactList,
  ContactListDetail,
  DeliveryChange,
  DryRun,
  DurableMessage,
  DurableSend,
  Explanation,
  FanfareClient,
  ImportReport,
  LiftedSuppression,
  ListedTemplate,
  Message,
  MessageEvent,
  MessageRecord,
  MessageStory,
  Outbox,
  Overview,
  PersonExplanation,
  Policy,
  PolicyInput,
  Recipient,
  Redials,
  ReleasedCampaign,
  RetriedCampaign,
  SavedCampaign,
  SenderLimit,
  SenderLimitInput,
  SkippedContact,
  Stop,
  Suppression,
  Template,
  TemplatePreview,
  TemplateVersion,
  TimelineEntry,
  TrackedMessage,
  Webhook,
  WebhookDelivery,
  WebhookInput,
  WebhookWithSecret,
} from '../../src/client/fanfare-client';
import type { deliveryChange } from '../../src/contracts/campaign-additions';
import type { campaignDigest } from '../../src/contracts/campaign-approval';
import type { callSummary } from '../../src/contracts/campaign-calls';
import type { recipients } from '../../src/contracts/campaign-recipients';
import type { runs } from '../../src/contracts/campaign-runs';
import type {
  campaignBody,
  campaignDetail,
  changedCampaign,
  releasedCampaign,
  retriedCampaign,
  savedCampaign,
} from '../../src/contracts/campaigns';
import type {
  contactListDetail,
  contactLists,
  contacts,
  importedContacts,
} from '../../src/contracts/contact-lists';
import type { dryRun } from '../../src/contracts/dry-run';
import type { durableSend, durableSendBody } from '../../src/contracts/durable-sends';
import type { events } from '../../src/contracts/events';
import type { personExplanation, recipientExplanation, skippedContacts } from '../../src/contracts/explain';
import type { messages, stories, trackedMessage } from '../../src/contracts/messages';
import type { overview } from '../../src/contracts/overview';
import type { policyAnswer, policyBody, timeline } from '../../src/contracts/policy';
import type { accepted, bulkResults, message, outbox } from '../../src/contracts/send';
import type { senderLimitBody, senderLimits } from '../../src/contracts/sender-limits';
import type { begunStop } from '../../src/contracts/stop';
import type { liftedSuppression, suppressions } from '../../src/contracts/suppression';
import type {
  readTemplate,
  templateList,
  templatePreviewed,
  templateVersions,
} from '../../src/contracts/templates';
import type { newWebhook, savedWebhook, webhookBody, webhookDelivery } from '../../src/contracts/webhooks';

/** True when everything of the one may be given where the other is expected. */
type Fits<Given, Expected> = Given extends Expected ? true : false;

/** Every name that the one has is known to the other. */
type Known<Given, Expected> = Exclude<keyof Given, keyof Expected> extends never ? true : false;

/** What comes is as promised, and nothing of it is hidden, at any depth. */
type Told<Answered, Promised> = Fits<Answered, Promised> &
  Same<keyof Answered, keyof Promised> &
  ([Hidden<Answered, Promised>] extends [never] ? true : false);

/** The paths of members that come and are not promised. Names that are values, as of `params`, are not looked into. */
type Hidden<Answered, Promised, Path extends string = ''> = [Members<Answered>] extends [never]
  ? never
  : Members<Answered> extends readonly (infer One)[]
    ? Hidden<One, Members<Promised> extends readonly (infer Other)[] ? Other : never, `${Path}[]`>
    : string extends KeyOf<Answered> | KeyOf<Promised>
      ? never
      : {
          [Name in KeyOf<Answered>]: Name extends KeyOf<Promised>
            ? Hidden<Of<Answered, Name>, Of<Promised, Name>, `${Path}.${Name}`>
            : `${Path}.${Name}`;
        }[KeyOf<Answered>];
type Members<T> = Extract<T, object>;
type KeyOf<T> = T extends object ? Extract<keyof T, string> : never;
type Of<T, Name extends string> = T extends { [Key in Name]?: infer Value } ? Value : never;
type Same<One, Other> = [One, Other] extends [Other, One] ? true : false;

type Data<Answer extends z.ZodType> = z.output<Answer> extends { data: infer Data } ? Data : never;
type Method<Name extends keyof FanfareClient> = FanfareClient[Name] extends (
  ...given: never[]
) => Promise<infer Given>
  ? Given
  : never;
type Redial = NonNullable<NonNullable<Redials['retry']>['busy']>;
type RedialAsked = NonNullable<
  NonNullable<NonNullable<z.input<typeof campaignBody>['voice']>['retry']>['busy']
>;

// Compiled by the check of the types; what does not agree with the contracts is an error there.
const checks: true[] = [
  true satisfies Fits<Message, z.input<typeof message>>,
  true satisfies Known<Message, z.input<typeof message>>,
  true satisfies Fits<DurableMessage, z.input<typeof durableSendBody>>,
  true satisfies Known<CampaignInput, z.input<typeof campaignBody>>,
  true satisfies Fits<z.output<typeof durableSend>['data'], DurableSend>,
  true satisfies Known<DurableSend, z.output<typeof durableSend>['data']>,
  true satisfies Fits<z.output<typeof runs>['data'][number], CampaignRun>,
  true satisfies Known<CampaignRun, z.output<typeof runs>['data'][number]>,
  true satisfies Told<Data<typeof dryRun>, DryRun>,
  true satisfies Same<keyof RedialAsked, keyof Redial>,
  true satisfies Told<Data<typeof changedCampaign>, CampaignSummary>,
  true satisfies Told<Data<typeof savedCampaign>, SavedCampaign>,
  true satisfies Told<Data<typeof retriedCampaign>, RetriedCampaign>,
  true satisfies Told<Data<typeof releasedCampaign>, ReleasedCampaign>,
  true satisfies Told<Data<typeof campaignDetail>, Campaign>,
  true satisfies Told<Data<typeof campaignDigest>, CampaignDigest>,
  true satisfies Told<Data<typeof recipients>[number], Recipient>,
  true satisfies Told<Data<typeof recipientExplanation>, Explanation>,
  true satisfies Told<Data<typeof personExplanation>, PersonExplanation>,
  true satisfies Told<Data<typeof skippedContacts>[number], SkippedContact>,
  true satisfies Told<Data<typeof callSummary>, CallSummary>,
  true satisfies Told<Data<typeof contacts>[number], Contact>,
  true satisfies Told<Data<typeof contactLists>[number], ContactList>,
  true satisfies Told<Data<typeof contactListDetail>, ContactListDetail>,
  true satisfies Told<Data<typeof importedContacts>, ImportReport>,
  true satisfies Told<Data<typeof accepted>, AcceptedMessage>,
  true satisfies Told<Data<typeof trackedMessage>, TrackedMessage>,
  true satisfies Told<Data<typeof overview>, Overview>,
  true satisfies Told<Data<typeof begunStop>, Stop>,
  true satisfies Told<Data<typeof templateVersions>[number], TemplateVersion>,
  true satisfies Told<Data<typeof timeline>[number], TimelineEntry>,
  true satisfies Told<Data<typeof messages>[number], MessageRecord>,
  true satisfies Told<Data<typeof events>[number], MessageEvent>,
  true satisfies Told<Data<typeof stories>[number], MessageStory>,
  true satisfies Told<Data<typeof outbox>, Outbox>,
  true satisfies Told<Data<typeof bulkResults>['results'][number], BulkResult>,
  true satisfies Told<Data<typeof suppressions>[number], Suppression>,
  true satisfies Told<Data<typeof liftedSuppression>, LiftedSuppression>,
  true satisfies Told<Data<typeof senderLimits>[number], SenderLimit>,
  true satisfies Told<Data<typeof policyAnswer>, Policy>,
  true satisfies Told<z.output<typeof templateList>['templates'][number], ListedTemplate>,
  true satisfies Told<Data<typeof readTemplate>, Template>,
  true satisfies Told<Data<typeof templatePreviewed>, TemplatePreview>,
  true satisfies Told<Data<typeof savedWebhook>, Webhook>,
  true satisfies Told<Data<typeof newWebhook>, WebhookWithSecret>,
  true satisfies Told<Data<typeof webhookDelivery>, WebhookDelivery>,
  true satisfies Fits<DeliveryChange, z.input<typeof deliveryChange>>,
  true satisfies Fits<PolicyInput, z.input<typeof policyBody>>,
  true satisfies Fits<SenderLimitInput, z.input<typeof senderLimitBody>>,
  true satisfies Fits<WebhookInput, z.input<typeof webhookBody>>,
  true satisfies Same<keyof Progress, keyof CampaignProgress>,
  true satisfies Same<Method<'contactList'>, ContactListDetail>,
  true satisfies Same<Method<'duplicate'>, SavedCampaign>,
  true satisfies Same<Method<'retryFailed'>, RetriedCampaign>,
  true satisfies Same<Method<'release'>, ReleasedCampaign>,
];

test('what the client takes and gives is what the contracts say', () => {
  expect(checks).not.toContain(false);
});
