import { readConfig } from '../src/config';
import { VARIABLES } from '../src/config-variables';
import { refusal } from './support/config-refusal';

describe('a number', () => {
  const PORT = 'a whole number from 0 to 65535';
  test.each([
    ['FANFARE_METRICS_PORT', 'http', PORT],
    ['FANFARE_METRICS_PORT', '65536', PORT],
    ['FANFARE_HTTP_PORT', ' ', PORT],
    ['FANFARE_HTTP_PORT', '80.5', PORT],
    ['FANFARE_LOOPBACK_PORT', '-1', PORT],
    ['FANFARE_TEMPORAL_METRICS_PORT', '0', 'a whole number from 1 to 65535'],
    ['FANFARE_REQUESTS_PER_SECOND', '1,000', 'a whole number from 1 to 1000000'],
    ['FANFARE_SMPP_BINDS', '51', 'a whole number from 1 to 50'],
    ['FANFARE_SIMULATOR_SEED', '-1', 'a whole number from 0'],
    ['FANFARE_EMAIL_RATE', '-2.5', 'a number above 0, at most 100000'],
    ['FANFARE_CALL_FAULT_SECONDS', '2m', 'a number above 0, at most 86400'],
  ])('in %s that is %j is refused once, with what it has to be and what was given', (name, text, what) => {
    expect(refusal({ [name]: text })).toBe(
      `Wrong configuration: ${name}: this must be ${what}, not ${JSON.stringify(text)}`,
    );
  });

  test('may have spaces around it, and is not set if it is empty', () => {
    expect(readConfig({ FANFARE_METRICS_PORT: ' 9464\n' }).metrics.port).toBe(9464);
    expect(readConfig({ FANFARE_HTTP_PORT: '', FANFARE_EMAIL_RATE: '0.5' })).toMatchObject({
      http: { port: 8080 },
      senderLimits: { email: { rate: 0.5 } },
    });
  });

  test('of many characters is not repeated whole', () => {
    expect(refusal({ FANFARE_METRICS_PORT: 'x'.repeat(5000) }).length).toBeLessThan(200);
  });

  test('is refused as such in every variable that holds one', () => {
    const numeric =
      /_PORT$|_RATE$|_CALLS$|_SECONDS$|_PER_SECOND$|_AT_ONCE$|_DAYS$|_SEED$|_MS$|_BINDS$|_WINDOW$/;
    const names = Object.keys(VARIABLES.shape).filter((name) => numeric.test(name));
    for (const name of [...names, 'FANFARE_SMTP_CONNECTIONS'])
      expect(refusal({ [name]: 'many' })).toMatch(
        new RegExp(`: ${name}: this must be a (whole )?number .*, not "many"$`),
      );
  });
});
