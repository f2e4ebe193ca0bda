import { untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { CALLER_ID } from '../support/voice-campaign';

/** What the simulator's callees do follows from the end of their number. */
const PRESSES_THE_KEY = '+12025550185';
const LISTENS = '+12025550180';

describe('a key by which a person asks not to be called again', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
  }, 120_000);
  afterAll(() => here?.remove());

  test('ends the call as opted out, blocks the number for calls, and leaves it out of the next campaign', async () => {
    const { data: list } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'called twice',
    });
    const contacts = [{ phone: PRESSES_THE_KEY }, { phone: LISTENS }];
    await here.api.expect('POST', `/api/contact-list/${list.id}/contacts`, { contacts });
    const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: 'with a way out',
      channel: 'voice',
      voiceJson: {
        nodes: [
          {
            id: 'ask',
            type: 'gather',
            data: {
              isStart: true,
              text: 'Press 5 not to be called again, or 1 to hear more.',
              optOutDigit: '5',
            },
          },
          { id: 'more', type: 'text', data: { text: 'There is more.' } },
          { id: 'bye', type: 'text', data: { text: 'You will not be called again.' } },
        ],
        edges: [
          { id: 'a', source: 'ask', target: 'more', sourceHandle: '1' },
          { id: 'b', source: 'ask', target: 'bye', sourceHandle: '5' },
        ],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    const run = async () => {
      const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
        campaignId: null,
        name: 'calls',
        channel: ['voice'],
        contactListId: [list.id],
        settings: { voice: { callerId: CALLER_ID, templateId: template.id, version: 1 } },
      });
      await untilPhase(here.api, data.id, ['completed'], 60_000);
      return data.id;
    };
    const recipients = async (id: string) =>
      (
        await here.api.expect<{ data: { address: string; state: string; outcome: string | null }[] }>(
          'GET',
          `/api/campaign/${id}/recipients?limit=10`,
        )
      ).data;

    const first = await recipients(await run());
    expect(first.find(({ address }) => address === PRESSES_THE_KEY)).toMatchObject({
      state: 'delivered',
      outcome: 'opted_out',
    });
    expect(first.find(({ address }) => address === LISTENS)).toMatchObject({ outcome: 'human' });
    const { data: blocked } = await here.api.expect<{ data: object[] }>(
      'GET',
      '/api/suppression?channel=voice',
    );
    expect(blocked).toHaveLength(1);
    expect(blocked).toMatchObject([{ address: PRESSES_THE_KEY, reason: 'voice_opt_out' }]);

    const second = await run();
    expect((await recipients(second)).map(({ address }) => address)).toEqual([LISTENS]);
    const { data: detail } = await here.api.expect<{
      data: { skipped: Record<string, Record<string, number>> };
    }>('GET', `/api/campaign/${second}`);
    expect(detail.skipped.voice).toMatchObject({ suppressed: 1 });
  }, 180_000);
});
