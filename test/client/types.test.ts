import type { z } from 'zod';
import type {
  CampaignInput,
  CampaignRun,
  DryRun,
  DurableMessage,
  DurableSend,
  Message,
} from '../../src/client/fanfare-client';
import type { dryRun, runs } from '../../src/contracts/answers/campaigns';
import type { durableSend } from '../../src/contracts/answers/durable-sends';
import type { campaignBody } from '../../src/contracts/campaigns';
import type { durableSendBody } from '../../src/contracts/durable-sends';
import type { message } from '../../src/contracts/send';

/** True when everything of the one may be given where the other is expected. */
type Fits<Given, Expected> = Given extends Expected ? true : false;

/** Every name that the one has is known to the other. */
type Known<Given, Expected> = Exclude<keyof Given, keyof Expected> extends never ? true : false;

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
  true satisfies Fits<keyof z.output<typeof dryRun>['data'], keyof DryRun>,
];

test('what the client takes and gives is what the contracts say', () => {
  expect(checks).not.toContain(false);
});
