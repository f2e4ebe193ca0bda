/** Proves that the demo runs once, by the public API, and continues after a crash without duplicates. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCampaigns } from '../../src/campaigns/campaigns';
import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import type { RunLauncher } from '../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createApiClient } from '../../src/cli/api-client';
import { type DemoOptions, runDemo } from '../../src/cli/demo';
import { type DemoState, demoStateFile, newDemo } from '../../src/cli/demo-state';
import { prepareDemo } from '../../src/cli/demo-steps';
import type { Credentials } from '../../src/credentials/credentials';
import { CHANNELS } from '../../src/domain/channel';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRecipientRoutes } from '../../src/http/campaign-recipients';
import { campaignRunRoutes } from '../../src/http/campaign-runs';
import { campaignRoutes } from '../../src/http/campaigns';
import { contactListRoutes } from '../../src/http/contact-lists';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import type { Storage } from '../../src/storage/storage';
import { startService, type TestService } from '../http/service';
import { describeWithDatabase } from '../support/storage';

const SAMPLE = [
  'externalId,name,email,phone',
  'a,Ada,ada@example.com,(212) 555-0100',
  'b,Bob,bob@example.com,+12125550101',
  'c,,not an address,',
].join('\n');

describeWithDatabase('the demo', (database) => {
  let storage: Storage;
  let service: TestService;
  let directory: string;
  let launched: string[];
  let printed: string;

  // Each test has a workspace of its own.
  beforeAll(async () => {
    storage = await database.open();
  });

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-demo-'));
    writeFileSync(join(directory, 'contacts.csv'), SAMPLE);
    launched = [];
    printed = '';
    service = await startServiceWithCampaigns();
  });

  afterEach(async () => {
    await service.app.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The API whole, with a launcher whose runs are over at once: the durable run has its own tests. */
  async function startServiceWithCampaigns(): Promise<TestService> {
    const db = storage.tables<CampaignTables>();
    const versions = createTemplateVersions(storage.tables<MessagingTables>());
    const launcher: RunLauncher = {
      async launch({ runId }) {
        launched.push(runId);
        await db.updateTable('runs').set({ phase: 'completed' }).where('id', '=', runId).execute();
      },
      controlChanged: async () => undefined,
    };
    const campaigns = createCampaigns({
      db,
      launcher,
      log: createLog('silent'),
      templates: {
        async find(workspaceId, channel, templateId, version) {
          const found = await versions.get(workspaceId, templateId, version);
          if (found?.channel !== channel) return undefined;
          return { name: templateId, version: found.version, placeholders: [...found.placeholders] };
        },
      },
    });
    return startService(storage.tables<MessagingTables>(), {
      routes: [
        (app) => contactListRoutes(app, { contactLists: createContactLists({ db }) }),
        (app) => campaignRoutes(app, { campaigns }),
        (app) => campaignControlRoutes(app, { campaigns }),
        (app) => campaignRunRoutes(app, { campaigns }),
        (app) => campaignRecipientRoutes(app, { campaigns }),
      ],
    });
  }

  function options(more: Partial<DemoOptions> = {}): DemoOptions {
    const credentials: Credentials = { ...service.workspace, baseUrl: service.url };
    return {
      baseUrl: service.url,
      credentials,
      csvPath: join(directory, 'contacts.csv'),
      stateFile: join(directory, 'demo.json'),
      out: {
        write(text) {
          printed += text;
        },
      },
      ...more,
    };
  }

  async function read(path: string) {
    const answer = await service.call('GET', path, { headers: { authorization: service.bearer } });
    expect(answer.status).toBe(200);
    return answer.body;
  }

  async function made(): Promise<Record<string, number>> {
    const lists = await read('/api/contact-list?page=1&limit=100');
    const campaigns = await read('/api/campaign?page=1&limit=100&channel=sms');
    const counts: Record<string, number> = {
      lists: lists.pagination.total,
      campaigns: campaigns.pagination.total,
    };
    for (const channel of CHANNELS) counts[channel] = (await read(`/api/template/?channel=${channel}`)).total;
    return counts;
  }

  const ONE_SET = { lists: 1, campaigns: 1, email: 1, sms: 1, voice: 1 };
  const TWO_SETS = { lists: 2, campaigns: 2, email: 2, sms: 2, voice: 2 };

  test('it makes its campaign by the public API, follows it to its end and prints a summary', async () => {
    const outcome = await runDemo(options());
    expect(outcome.result).toBe('completed');
    expect(await made()).toEqual(ONE_SET);
    expect(launched).toHaveLength(1);
    expect(printed).toMatch(/Imported 3 rows: 2 new contacts, 0 known, 1 rejected/);
    expect(printed).toMatch(/completed \d+ s · stage 0 of 2 · email/);
    expect(printed).toMatch(/email\s+sms\s+voice\n/);
  });

  test('a finished demo is not repeated, unless asked for', async () => {
    await runDemo(options());
    expect(await runDemo(options())).toEqual({ result: 'done before' });
    expect(await made()).toEqual(ONE_SET);

    expect((await runDemo(options({ again: true }))).result).toBe('completed');
    expect(await made()).toEqual(TWO_SETS);
  });

  test('killed after any of its requests, before the note of it, it makes nothing twice', async () => {
    const { client } = service.workspace;
    const file = demoStateFile(join(directory, 'demo.json'));
    await file.write(newDemo(service.workspace.workspace.id));
    let kills = 0;
    for (let finished = false; !finished; ) {
      const api = createApiClient({ baseUrl: service.url, client });
      // The first note that says something new is the one that is lost.
      const before = JSON.stringify(await file.read());
      const dyingFile = {
        read: file.read,
        async write(state: DemoState) {
          if (JSON.stringify(state) === before) return;
          kills += 1;
          await file.write(JSON.parse(before) as DemoState);
          throw new Error('killed');
        },
      };
      const state = (await file.read()) as DemoState;
      const steps = { api, csvPath: join(directory, 'contacts.csv'), say: () => undefined };
      await expect(prepareDemo(structuredClone(state), { ...steps, stateFile: dyingFile })).rejects.toThrow(
        'killed',
      );

      // The next process gets one step further before it is killed.
      let notes = 0;
      const oneStep = {
        read: file.read,
        async write(next: DemoState) {
          if (JSON.stringify(next) !== before && notes++ > 0) throw new Error('killed');
          await file.write(next);
        },
      };
      finished = await prepareDemo(structuredClone(state), { ...steps, stateFile: oneStep }).then(
        () => true,
        () => false,
      );
      await api.close();
    }
    expect(kills).toBe(6);
    expect(await made()).toEqual(ONE_SET);
    expect(launched).toHaveLength(1);
  });

  test('what another database has seen of it does not count', async () => {
    await runDemo(options());
    const file = demoStateFile(join(directory, 'demo.json'));
    const noted = (await file.read()) as DemoState;
    await file.write({ ...noted, workspaceId: 'ws_of_another' });
    expect((await runDemo(options())).result).toBe('completed');
    expect(await made()).toEqual(TWO_SETS);
  });

  test('a damaged note is no note', async () => {
    writeFileSync(join(directory, 'demo.json'), '{"stage":');
    expect((await runDemo(options())).result).toBe('completed');
  });

  test('asked to stop, it ends at once and can be carried on', async () => {
    const stop = new AbortController();
    const out = {
      write(text: string) {
        printed += text;
        if (text.startsWith('Imported')) stop.abort();
      },
    };
    expect(await runDemo(options({ out, signal: stop.signal }))).toEqual({ result: 'interrupted' });
    expect((await runDemo(options())).result).toBe('completed');
    expect(printed).toContain('carrying on');
    expect(await made()).toEqual(ONE_SET);
  });

  test('where nothing answers, it says so', async () => {
    const running = runDemo(options({ baseUrl: 'http://127.0.0.1:9' }));
    await expect(running).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining('Nothing answers at http://127.0.0.1:9'),
    });
  });
});
