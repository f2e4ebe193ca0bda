import { FanfareError } from '../client/fanfare-error';
import type { Credentials } from '../credentials/credentials';
import { type ApiClient, createApiClient } from './api-client';
import { reasonText } from './campaign-reason';
import {
  type CampaignProgress,
  campaignDetail,
  gateText,
  progressText,
  summaryTable,
} from './campaign-report';
import { type DemoState, demoStateFile, newDemo } from './demo-state';
import { prepareDemo } from './demo-steps';
import { endOf, followCampaign } from './follow-campaign';
import { createProgressLine, type Output } from './progress-line';

export interface DemoOptions {
  baseUrl: string;
  credentials: Credentials;
  csvPath: string;
  /** Where the demo records how far it is: demo.json in the data directory. */
  stateFile: string;
  out: Output;
  signal?: AbortSignal | undefined;
  /** Run it again under a new name, although it has been finished. */
  again?: boolean;
}

export type DemoOutcome =
  | { result: 'completed' | 'canceled' | 'failed'; campaignId: string }
  | { result: 'done before' | 'interrupted' };

/**
 * A campaign over all three channels, created and watched only through the public HTTP API. It runs once: a
 * demo that an earlier process began is continued, and a finished one is repeated only on request.
 */
export async function runDemo(options: DemoOptions): Promise<DemoOutcome> {
  const { credentials, out, signal } = options;
  const stateFile = demoStateFile(options.stateFile);
  const api = createApiClient({ baseUrl: options.baseUrl, client: credentials.client, signal });
  const say = (text: string) => out.write(`${text}\n`);
  try {
    let state = await currentDemo(await stateFile.read(), credentials.workspace.id, api);
    if (state?.stage === 'finished' && !options.again) return { result: 'done before' };
    if (state && state.stage !== 'finished') say(`${state.name}: carrying on`);
    if (!state || state.stage === 'finished') {
      state = newDemo(credentials.workspace.id);
      say(`${state.name}: a campaign over email, SMS and voice, delivered by the simulator`);
      say('Twenty contacts come first; the others follow unless more than 30 % of those messages fail');
    }
    await stateFile.write(state);
    const campaignId = await prepareDemo(state, { api, csvPath: options.csvPath, stateFile, say });
    const last = await follow(api, campaignId, out, signal);
    await stateFile.write({ ...state, stage: 'finished' });
    say(
      `${state.name} (${campaignId}) is ${last.phase}${last.reason ? `: ${reasonText(last.reason)}` : ''}\n`,
    );
    say(summaryTable(last));
    return { result: endOf(last.phase) ?? 'failed', campaignId };
  } catch (error) {
    if (signal?.aborted) return { result: 'interrupted' };
    throw error;
  } finally {
    await api.close();
  }
}

/** The recorded demo, unless it belongs to another database or its campaign no longer exists. */
async function currentDemo(
  noted: DemoState | undefined,
  workspaceId: string,
  api: ApiClient,
): Promise<DemoState | undefined> {
  if (noted?.workspaceId !== workspaceId) return undefined;
  if (noted.stage === 'finished' || !noted.campaignId) return noted;
  try {
    await api.get(`/api/campaign/${noted.campaignId}`, campaignDetail);
    return noted;
  } catch (error) {
    if (error instanceof FanfareError && error.status === 404) return undefined;
    throw error;
  }
}

async function follow(
  api: ApiClient,
  campaignId: string,
  out: Output,
  signal: AbortSignal | undefined,
): Promise<CampaignProgress> {
  const line = createProgressLine(out);
  const started = Date.now();
  const textOf = (progress: CampaignProgress) => progressText(progress, Date.now() - started);
  let judged = 0;
  const tellGates = (progress: CampaignProgress) => {
    const { judged: all = [], of = 0 } = progress.release ?? {};
    for (const one of all.slice(judged)) line.finish(gateText(one, of));
    judged = all.length;
  };
  try {
    const last = await followCampaign(api, campaignId, {
      signal,
      tell(progress) {
        tellGates(progress);
        line.update(textOf(progress));
      },
    });
    tellGates(last);
    line.finish(textOf(last));
    return last;
  } catch (error) {
    line.finish();
    throw error;
  }
}
