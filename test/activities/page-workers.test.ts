import { PageWorkers, type TurnKey } from '../../activities/page-workers';

const key = (workspaceId: string, campaignId: string): TurnKey => ({ workspaceId, campaignId });
const never = new AbortController().signal;

/** Workers whose work ends when the test says so. */
class Rig {
  readonly order: string[] = [];
  private readonly ends = new Map<string, (() => void)[]>();

  constructor(readonly workers: PageWorkers) {}

  start(turn: TurnKey, stopped: AbortSignal = never): Promise<void> {
    return this.workers.run(turn, stopped, async () => {
      this.order.push(turn.campaignId);
      await new Promise<void>((done) => {
        this.ends.set(turn.campaignId, [...(this.ends.get(turn.campaignId) ?? []), done]);
      });
    });
  }

  async end(campaignId: string): Promise<void> {
    this.ends.get(campaignId)?.shift()?.();
    await begun();
  }
}

/** Work that may begin has begun. */
const begun = () => new Promise(setImmediate);

describe('page workers', () => {
  test('a campaign that comes late is next, however many chunks others have waiting', async () => {
    const rig = new Rig(new PageWorkers(2, 2));
    for (let i = 0; i < 10; i++) void rig.start(key('w', 'big'));
    void rig.start(key('w', 'small'));
    await begun();
    expect(rig.order).toEqual(['big', 'big']);
    await rig.end('big');
    expect(rig.order).toEqual(['big', 'big', 'small']);
  });

  test('turns go round the workspaces, and inside each round its campaigns', async () => {
    const rig = new Rig(new PageWorkers(1, 1));
    for (let i = 0; i < 2; i++) for (const campaign of ['a1', 'a2', 'a3']) void rig.start(key('a', campaign));
    for (let i = 0; i < 3; i++) void rig.start(key('b', 'b1'));
    await begun();
    for (let i = 0; i < 5; i++) await rig.end(rig.order.at(-1) ?? '');
    expect(rig.order).toEqual(['a1', 'b1', 'a2', 'b1', 'a3', 'b1']);
  });

  test('one campaign never has all workers, so that a service that hangs leaves some', async () => {
    const rig = new Rig(new PageWorkers(4, 3));
    for (let i = 0; i < 6; i++) void rig.start(key('w', 'hangs'));
    await begun();
    expect(rig.order).toHaveLength(3);
    void rig.start(key('w', 'other'));
    await begun();
    expect(rig.order).toEqual(['hangs', 'hangs', 'hangs', 'other']);
  });

  test('an activity that is asked to stop waits no longer, and leaves its turn to others', async () => {
    const rig = new Rig(new PageWorkers(1, 1));
    const stop = new AbortController();
    void rig.start(key('w', 'first'));
    const stopped = rig.start(key('w', 'stopped'), stop.signal);
    void rig.start(key('w', 'third'));
    await begun();
    stop.abort(new Error('asked to stop'));
    await expect(stopped).rejects.toThrow('asked to stop');
    await rig.end('first');
    expect(rig.order).toEqual(['first', 'third']);
  });
});
