import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { campaignScheduleId, occurrenceWorkflowId } from '../../src/domain/ids';
import {
  type ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { startEarly } from '../support/early-start';
import { Installation } from '../support/installation';
import { ROOT } from '../support/root';
import { until } from '../support/until';
import { callsOnEveryPath } from './record-calls';
import { STAGED_HISTORIES, stagedCampaigns } from './record-stages';

/**
 * Records one history per workflow for replay.test.ts, from a small campaign on the built program:
 * `node dist/test/replay/record.js <number> [part of names]`. Run it before a change to a workflow that is meant to stay
 * compatible, with a number that these names do not have yet: what was recorded before is never overwritten. No
 * `outcomeFeed` is started any more; its history stays for those that an earlier release left running.
 */
async function main(recording: string, names: string): Promise<void> {
  const here = await Installation.start({
    FANFARE_SIMULATOR_LATENCY_MS: '20',
    FANFARE_CALL_FAULT_SECONDS: '1',
    FANFARE_CALL_SILENCE_SECONDS: '25',
  });
  try {
    const { api, credentials } = here;
    const runId = await smallCampaign(api);
    const sendId = await redialledSend(api);
    const recurringId = await recurringCampaign(api);
    const connection = await Connection.connect({ address: credentials.temporal.address });
    const client = new Client({ connection, namespace: credentials.temporal.namespace });
    const { workflow, schedule } = client;
    const early = await earlyCampaign(api, client);
    const calls = isOneOf('voice-call', names) ? await callsOnEveryPath(api, client) : {};
    const areStagesWanted = STAGED_HISTORIES.some((name) => name.includes(names));
    const staged = areStagesWanted ? await stagedCampaigns(here) : {};
    let longestCall = { events: 0, workflowId: '' };
    for await (const execution of workflow.list()) {
      if (!execution.workflowId.startsWith(`call:${runId}`)) continue;
      const { historyLength: events } = await workflow.getHandle(execution.workflowId).describe();
      if (events > longestCall.events) longestCall = { events, workflowId: execution.workflowId };
    }
    await schedule.getHandle(campaignScheduleId(recurringId)).trigger();
    let occurrence = '';
    await until('an occurrence', async () => {
      for await (const { workflowId, status } of workflow.list()) {
        if (!workflowId.startsWith(occurrenceWorkflowId(recurringId))) continue;
        if (status.name === 'COMPLETED') occurrence = workflowId;
      }
      return occurrence !== '';
    });
    const wanted = {
      'campaign-occurrence': occurrence,
      'campaign-run': `campaign:${runId}`,
      'campaign-run-early': early,
      'channel-shard-sms': `shard:${runId}:sms:0`,
      'channel-shard-voice': `shard:${runId}:voice:0`,
      'voice-call-redialled': longestCall.workflowId,
      'durable-send-redialled': `send:${sendId}`,
      ...calls,
      ...staged,
    };
    for (const [name, workflowId] of Object.entries(wanted)) {
      if (!name.includes(names)) continue;
      const history = await workflow.getHandle(workflowId).fetchHistory();
      const file = join(ROOT, `test/replay/histories/${name}-${recording}.json`);
      writeFileSync(file, `${historyToJSON(history)}\n`, { flag: 'wx' });
      process.stdout.write(`${file}: ${history.events?.length} events\n`);
    }
    await connection.close();
  } finally {
    await here.remove();
  }
}

/** Its schedule is triggered by hand; nothing is due. */
async function recurringCampaign(api: ApiClient): Promise<string> {
  return createSmsCampaign(api, await createList(api, 1, 'again'), await createSmsTemplate(api), {
    schedule: { cron: '0 0 1 1 *' },
  });
}

const isOneOf = (kind: string, names: string) => kind.includes(names) || names.includes(kind);

/** Its workflow is started before its hour. */
async function earlyCampaign(api: ApiClient, client: Client): Promise<string> {
  const schedule = { startAt: new Date(Date.now() + 20_000).toISOString() };
  const id = await createSmsCampaign(api, await createList(api, 3, 'early'), await createSmsTemplate(api), {
    schedule,
  });
  const { workflowId } = await campaignDetail(api, id);
  await startEarly(client, workflowId);
  await untilPhase(api, id, ['completed'], 120_000);
  return workflowId;
}

async function smallCampaign(api: ApiClient): Promise<string> {
  const listId = await createList(api, 30, 'replay');
  const templates: Record<string, string> = {};
  for (const [channel, content] of Object.entries({
    sms: { body: 'Hello {{NAME}}' },
    voice: {
      body: '<Response><Answer/><Say>Hello {{NAME}}</Say></Response>',
      voiceJson: {
        nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello {{NAME}}' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    },
  })) {
    const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: channel,
      channel,
      ...content,
    });
    templates[channel] = template.id;
  }
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
    campaignId: null,
    name: 'replay',
    channel: ['sms', 'voice'],
    contactListId: [listId],
    settings: {
      sms: { shortCode: '12345', templateId: templates.sms, version: 1 },
      voice: { callerId: '+12025550100', templateId: templates.voice, version: 1 },
    },
    voice: {
      retry: {
        busy: { maxAttempts: 3, delaysSeconds: [1] },
        no_answer: { maxAttempts: 3, delaysSeconds: [1] },
      },
      maxAttempts: 3,
    },
  });
  await untilPhase(api, data.id, ['completed'], 120_000);
  return (await campaignDetail(api, data.id)).workflowId.replace('campaign:', '');
}

/** A call that finds the line busy and is made again; the template is the campaign's. */
async function redialledSend(api: ApiClient): Promise<string> {
  const listed = await api.expect<{ templates: { id: string }[] }>('GET', '/api/template?channel=voice');
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/send', {
    channel: 'voice',
    uid: 'replay',
    to: '+12125550199',
    from: '+12025550100',
    'template-id': listed.templates[0]?.id,
    params: { NAME: 'Ada' },
    voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [1] } } },
  });
  const ended = async () => {
    const send = await api.expect<{ data: { finishedAt: string | null } }>('GET', `/api/send/${data.id}`);
    return send.data.finishedAt !== null;
  };
  await until('the call has ended', ended, 60_000, 100);
  return data.id;
}

main(process.argv[2] ?? '1', process.argv[3] ?? '').catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
