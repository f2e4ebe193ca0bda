import type { z } from 'zod';
import type { Progress } from '../../src/campaigns/progress-feed';
import type {
  Campaign,
  CampaignDigest,
  CampaignInput,
  CampaignProgress,
  CampaignRun,
  CampaignSummary,
  DryRun,
  DurableMessage,
  DurableSend,
  Explanation,
  FanfareClient,
  Message,
  PersonExplanation,
  Recipient,
  Redials,
  ReleasedCampaign,
  RetriedCampaign,
  SavedCampaign,
  SkippedContact,
} from '../../src/client/fanfare-client';
import type {
  campaignDetail,
  campaignDigest,
  changedCampaign,
  dryRun,
  recipients,
  releasedCampaign,
  retriedCampaign,
  runs,
  savedCampaign,
} from '../../src/contracts/answers/campaigns';
import type { durableSend } from '../../src/contracts/answers/durable-sends';
import type {
  personExplanation,
  recipientExplanation,
  skippedContacts,
} from '../../src/contracts/answers/explain';
import type { campaignBody } from '../../src/contracts/campaigns';
import type { durableSendBody } from '../../src/contracts/durable-sends';
import type { message } from '../../src/contracts/send';

/** True when everything of the one may be given where the other is expected. */
type Fits<Given, Expected> = Given extends Expected ? true : false;

/** Every name that the one has is known to the other. */
type Known<Given, Expected> = Exclude<keyof Given, keyof Expected> extends never ? true : false;

/** What comes is as promised, and nothing of it is hidden. */
type Told<Answered, Promised> = Fits<Answered, Promised> & Same<keyof Answered, keyof Promised>;
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
  true satisfies Same<keyof Progress, keyof CampaignProgress>,
  true satisfies Same<Method<'duplicate'>, SavedCampaign>,
  true satisfies Same<Method<'retryFailed'>, RetriedCampaign>,
  true satisfies Same<Method<'release'>, ReleasedCampaign>,
];

test('what the client takes and gives is what the contracts say', () => {
  expect(checks).not.toContain(false);
});
