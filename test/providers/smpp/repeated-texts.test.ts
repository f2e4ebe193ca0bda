import { setTimeout as delay } from 'node:timers/promises';
import type { InboundSink, InboundSms } from '../../../src/providers/provider';
import { until } from '../../support/until';
import { centre, open, PERSON } from './smpp-rig';

describe('a text of a subscriber', () => {
  const start = async (take: (batch: readonly InboundSms[]) => Promise<void>) => {
    const smsc = await centre();
    const texts: string[] = [];
    const inbound: InboundSink = async (batch) => {
      await take(batch);
      texts.push(...batch.map(({ text }) => text));
    };
    const provider = open(smsc);
    await provider.start(async () => undefined, inbound);
    await until('a session', () => smsc.sessions() === 1);
    const say = (text: string) => smsc.say({ from: PERSON, to: '12345', text });
    return { smsc, texts, say };
  };

  test.each(['before', 'after'])(
    'is one, when its session ends before the answer and it comes again %s it is taken',
    async (when) => {
      let goOn: () => void = () => undefined;
      let asked = 0;
      const gate = new Promise<void>((done) => {
        goOn = done;
      });
      const { smsc, texts, say } = await start(() => {
        asked += 1;
        return gate;
      });
      say('Yes');
      await until('the text to be given', () => asked === 1);
      smsc.cutAll();
      await until('the session to end', () => smsc.sessions() === 0);
      if (when === 'after') goOn();
      await until('another session', () => smsc.sessions() === 1);
      goOn();
      await until('its answer', () => smsc.owed() === 0);
      expect(texts).toEqual(['Yes']);
      // Who writes the same now has written it twice.
      say('Yes');
      await until('its answer', () => smsc.owed() === 0 && texts.length === 2);
    },
  );

  test('is one, when its answer is lost with the session and it comes again', async () => {
    let isCut = false;
    const { smsc, texts, say } = await start(async () => {
      if (isCut) return;
      isCut = true;
      // The answer is written by then, and the centre has not read it.
      setImmediate(() => smsc.cutAll());
    });
    say('Yes');
    await until('the text to be given', () => texts.length > 0);
    expect(smsc.owed()).toBe(1);
    await until('its answer', () => smsc.owed() === 0);
    expect(texts).toEqual(['Yes']);
    say('Yes');
    await until('its answer', () => smsc.owed() === 0 && texts.length === 2);
  });

  test('that was answered before is two, when a person sends it again after the session', async () => {
    const { smsc, texts, say } = await start(async () => undefined);
    say('Yes');
    await until('its answer', () => smsc.owed() === 0);
    await delay(2_500);
    say('Thanks');
    await until('its answer', () => smsc.owed() === 0);
    smsc.cutAll();
    await until('another session', () => smsc.binds === 2);
    say('Yes');
    await until('its answer', () => smsc.owed() === 0 && texts.length === 3);
  });

  test('counts again after another of the same person: STOP, START, STOP', async () => {
    const { smsc, texts, say } = await start(async () => undefined);
    say('STOP');
    await until('its answer', () => smsc.owed() === 0);
    smsc.cutAll();
    await until('another session', () => smsc.binds === 2);
    say('START');
    await until('its answer', () => smsc.owed() === 0);
    say('STOP');
    await until('its answer', () => smsc.owed() === 0);
    expect(texts).toEqual(['STOP', 'START', 'STOP']);
  });

  test('that a person sends twice is two, also at once', async () => {
    const { smsc, texts, say } = await start(async () => undefined);
    say('Yes');
    say('Yes');
    await until('their answers', () => smsc.owed() === 0);
    expect(texts).toEqual(['Yes', 'Yes']);
  });

  test('that a person sent twice is two, when neither was answered before the session ended', async () => {
    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((done) => {
      goOn = done;
    });
    const { smsc, texts, say } = await start(() => gate);
    say('Yes');
    say('Yes');
    smsc.cutAll();
    await until('another session', () => smsc.binds === 2);
    goOn();
    await until('their answers', () => smsc.owed() === 0 && texts.length >= 2);
    expect(texts).toEqual(['Yes', 'Yes']);
  });
});
