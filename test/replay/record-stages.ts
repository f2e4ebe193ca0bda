import { channelShardWorkflowId } from '../../src/domain/ids';
import { asUser } from '../support/as-user';
import type { Installation } from '../support/installation';
import { people, StagedCampaigns, type StagedDetail } from '../support/stages';

const LIMIT_MS = 120_000;
/** Long enough to approve the campaign and to add to its list before it is frozen. */
const UNTIL_FROZEN_MS = 6_000;

export const STAGED_HISTORIES = [
  'campaign-run-staged-opened',
  'campaign-run-staged-closed',
  'campaign-run-staged-approved',
  'campaign-run-staged-voice',
  'channel-shard-staged-email',
  'channel-shard-staged-voice',
] as const;

/** What a run goes through that is released in stages; answers the workflows' ids by the names of their histories. */
export async function stagedCampaigns(
  here: Installation,
): Promise<Record<(typeof STAGED_HISTORIES)[number], string>> {
  const staged = new StagedCampaigns(here);
  const undelivered = { metric: 'undelivered', above: 0.5, minSample: 2 };
  const opened = await staged.start(
    ['email'],
    people(6, 'o', () => 'delivered'),
    {
      release: { stages: [{ recipients: 3, waitSeconds: 1 }], gates: [undelivered] },
    },
  );
  const closed = await staged.start(
    ['email'],
    people(6, 'c', () => 'bounce'),
    {
      release: { stages: [{ recipients: 2, waitSeconds: 1 }, { recipients: 2 }], gates: [undelivered] },
    },
  );
  const voice = await staged.start(
    ['voice'],
    [0, 1, 2, 3].map((i) => ({ externalId: `v${i}`, phone: `+1${212 + i}5550190` })),
    { release: { stages: [{ recipients: 2, waitSeconds: 1 }], gates: [undelivered] } },
  );
  await letGoByHand(closed);
  for (const id of [opened, closed, voice]) await untilCompleted(id);
  // Last, because the policy holds for the whole workspace.
  const approved = await approvedTwice();
  const [ofOpened, ofVoice] = [await staged.detail(opened), await staged.detail(voice)];
  return {
    'campaign-run-staged-opened': ofOpened.workflowId,
    'campaign-run-staged-closed': (await staged.detail(closed)).workflowId,
    'campaign-run-staged-approved': (await staged.detail(approved)).workflowId,
    'campaign-run-staged-voice': ofVoice.workflowId,
    'channel-shard-staged-email': channelShardWorkflowId(ofOpened.runId, 1, 'email', 0),
    'channel-shard-staged-voice': channelShardWorkflowId(ofVoice.runId, 1, 'voice', 0),
  };

  /** Its gate closes after each stage, and between the two the next one is released by hand. */
  async function letGoByHand(id: string): Promise<void> {
    const closedAfter =
      (n: number) =>
      ({ phase, release }: StagedDetail) =>
        phase === 'paused' && release.stage === n;
    await staged.until(id, 'the gate of stage 1', closedAfter(1), LIMIT_MS);
    await act(id, 'resume');
    await staged.until(id, 'the end of stage 2', ({ release }) => release.next === 'manual', LIMIT_MS);
    await act(id, 'release');
    await staged.until(id, 'the gate of stage 2', closedAfter(2), LIMIT_MS);
    await act(id, 'resume');
  }

  /** It is approved, and again after its freeze, which finds more contacts than that. */
  async function approvedTwice(): Promise<string> {
    await here.api.expect('PUT', '/api/policy', { approval: { above: 2 } });
    const id = await staged.start(
      ['email'],
      people(4, 'a', () => 'delivered'),
      {
        release: { stages: [{ recipients: 2, waitSeconds: 1 }] },
        schedule: { startAt: new Date(Date.now() + UNTIL_FROZEN_MS).toISOString() },
      },
    );
    await approve(id);
    const { contactListId } = (await staged.detail(id)) as unknown as { contactListId: string[] };
    const more = people(2, 'b', () => 'delivered');
    await here.api.expect('POST', `/api/contact-list/${contactListId[0]}/contacts`, { contacts: more });
    await staged.until(id, 'the freeze', ({ phase }) => phase === 'paused', LIMIT_MS);
    await approve(id);
    await untilCompleted(id);
    return id;
  }

  async function approve(id: string): Promise<void> {
    const { data } = await here.api.expect<{ data: { digest: string } }>('GET', `/api/campaign/${id}/digest`);
    const path = `/api/campaign/${id}/approve`;
    await asUser(here.fanfare.baseUrl, here.credentials.user, 'POST', path, { digest: data.digest });
  }

  async function act(id: string, action: string): Promise<void> {
    const { status } = await staged.act(id, action);
    if (status !== 200) throw new Error(`${action} was answered ${status}`);
  }

  function untilCompleted(id: string): Promise<StagedDetail> {
    return staged.until(id, 'the end', ({ phase }) => phase === 'completed', LIMIT_MS);
  }
}
