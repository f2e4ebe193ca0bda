import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportFailure } from '../../src/cli/failure';
import { FanfareError } from '../../src/client/fanfare-error';
import { writeCredentials } from '../../src/credentials/credentials';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

test('an instance that goes away while a command runs is named with what to do', () => {
  const said: string[] = [];
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  try {
    const gone = { code: 'connection_lost', status: 0 };
    expect(reportFailure(new FanfareError('http://a.example did not answer', gone), { json: false })).toBe(1);
  } finally {
    write.mockRestore();
  }
  expect(said.join('')).toMatch(
    /^fanfare: http:\/\/a\.example did not answer\nRun `fanfare doctor`, .*\.\n$/,
  );
});

describeWithDatabase('commands with --json that steer a workspace', (database) => {
  let api: WholeApi;
  let dataDir: string;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-failures-'));
    await writeCredentials(dataDir, { ...(await newWorkspace(api.identity)), baseUrl: api.url });
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function fanfare(line: string, env: Record<string, string> = {}) {
    const { out, err, code } = await runFanfare([...line.split(' '), '--json'], {
      ...{ FANFARE_DATA_DIR: dataDir },
      ...env,
    }).ended;
    return { code, err, answer: JSON.parse(out) as Record<string, unknown> };
  }

  test(
    'tell a refusal as an object with its code, and in words beside it',
    async () => {
      const digest = 'f'.repeat(64);
      for (const line of [
        'campaign status cmp_none',
        'campaign release cmp_none',
        `campaign approve cmp_none --digest ${digest}`,
        'campaign pause cmp_none',
        'explain cmp_none +12025550123',
      ]) {
        const { code, err, answer } = await fanfare(line);
        expect([line, code, answer]).toMatchObject([
          line,
          1,
          { result: 'error', code: 'not_found', status: 404, message: expect.stringContaining('cmp_none') },
        ]);
        expect(err).toContain('cmp_none');
      }
      const file = join(dataDir, 'suppressed.csv');
      writeFileSync(file, 'phone\n+12025550188\n');
      const { err: said } = await fanfare(`suppression import ${file}`);
      for (const column of ['channel', 'address', 'reason'])
        expect(said).toMatch(new RegExp(`^  header: .* ${column}$`, 'm'));
      const { answer } = await fanfare('user create --email nobody');
      expect(answer).toMatchObject({ code: 'invalid_request', errors: [{ path: 'email' }] });
    },
    TIMEOUT_MS,
  );

  test(
    'that are stopped while they wait for an answer say so, and not that something unexpected happened',
    async () => {
      const silent = createServer(() => undefined);
      await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
      const { port } = silent.address() as AddressInfo;
      const { child, ended } = runFanfare(['contacts', 'import', 'lst_1', __filename, '--json'], {
        ...{ FANFARE_DATA_DIR: dataDir, LOG_LEVEL: 'info' },
        FANFARE_APP_URL: `http://127.0.0.1:${port}`,
      });
      await once(silent, 'connection');
      child.kill('SIGINT');
      const { code, err, out } = await ended;
      silent.closeAllConnections();
      silent.close();
      expect([code, err.trim().split('\n')]).toEqual([
        1,
        [expect.stringMatching(/^fanfare: Stopped before/)],
      ]);
      expect(JSON.parse(out)).toMatchObject({ result: 'error', code: 'failed' });
    },
    TIMEOUT_MS,
  );

  test(
    'end without a word when their reader has enough',
    async () => {
      const { child, ended } = runFanfare(['completion', 'bash'], {});
      child.stdout?.destroy();
      const { err, code } = await ended;
      expect([code, err]).toEqual([1, '']);
    },
    TIMEOUT_MS,
  );

  test(
    'stop the workspace, show the stop and end it',
    async () => {
      expect(await fanfare('stop --status')).toMatchObject({ code: 0, answer: null });
      const stop = { reason: 'wrong', since: expect.any(String) };
      expect(await fanfare('stop --reason wrong')).toMatchObject({ code: 0, answer: stop });
      // A second one keeps the reason of the first.
      expect(await fanfare('stop --reason other')).toMatchObject({ code: 0, answer: stop });
      expect(await fanfare('stop --status')).toMatchObject({ code: 0, answer: stop });
      for (let i = 0; i < 2; i += 1)
        expect(await fanfare('stop --end')).toMatchObject({ code: 0, answer: null });
    },
    TIMEOUT_MS,
  );

  test(
    'end with 2 when they are called wrongly, and say so as an object',
    async () => {
      for (const line of [
        'stop',
        'stop --reason a --end',
        'campaign release',
        'campaign approve cmp_none',
        'campaign release cmp_none --stages none',
        'campaign send --channel sms --template T --from 12345 --to +12025550123 --param NAME',
        'sender-limit set 12345 --channel sms --rate ten',
        'sender-limit set 12345 --channel sms --rate 2,5',
        'sender-limit set +12025550100 --channel voice --concurrent-calls all',
        'client rotate cli_none --overlap-hours none',
        'nothing',
      ]) {
        const { code, answer } = await fanfare(line);
        expect([line, code, answer.code]).toEqual([line, 2, 'usage']);
      }
    },
    TIMEOUT_MS,
  );

  test(
    'name a file that cannot be sent, and blame no connection',
    async () => {
      for (const [file, why] of [
        [join(dataDir, 'none.csv'), 'ENOENT'],
        [dataDir, 'is a directory'],
      ] as const) {
        for (const command of ['suppression import', 'audit verify']) {
          const { code, answer } = await fanfare(`${command} ${file}`);
          expect([code, answer.code]).toEqual([1, 'failed']);
          expect(answer.message).toMatch(new RegExp(`^${file} .*${why}`));
        }
      }
    },
    TIMEOUT_MS,
  );

  test(
    'say where nothing answers, and what to do',
    async () => {
      const { code, answer } = await fanfare('stop --status', { FANFARE_APP_URL: 'http://127.0.0.1:1' });
      expect([code, answer]).toMatchObject([1, { code: 'failed', wayOut: expect.any(String) }]);
      expect(answer.message).toContain('http://127.0.0.1:1');
    },
    TIMEOUT_MS,
  );
});
