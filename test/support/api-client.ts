import { Pool } from 'undici';

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  body: Body;
}

/** A backend that uses the API with a client's credentials, as the documentation tells it to. */
export class ApiClient {
  private readonly pool: Pool;
  private token: string | undefined;

  constructor(
    baseUrl: string,
    private readonly credentials: { client: { id: string; secret: string }; apiKey: string },
    connections = 10,
  ) {
    this.pool = new Pool(baseUrl, { connections });
  }

  async call<Body = Record<string, unknown>>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<Answer<Body>> {
    const answer = await this.pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${await this.bearer()}`,
        'x-api-key': this.credentials.apiKey,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: (text ? JSON.parse(text) : undefined) as Body };
  }

  /** As `call`, but anything else than a 2xx is an error that shows the answer. */
  async expect<Body = Record<string, unknown>>(...request: Parameters<ApiClient['call']>): Promise<Body> {
    const answer = await this.call<Body>(...request);
    if (answer.status >= 300) {
      throw new Error(
        `${request[0]} ${request[1]} answered ${answer.status}: ${JSON.stringify(answer.body)}`,
      );
    }
    return answer.body;
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  /** The token, fetched at its first use. */
  async bearer(): Promise<string> {
    if (this.token) return this.token;
    const { id, secret } = this.credentials.client;
    const answer = await this.pool.request({
      method: 'POST',
      path: '/api/v1/auth/token',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    const body = (await answer.body.json()) as { access_token: string };
    this.token = body.access_token;
    return this.token;
  }
}

export interface CampaignDetail {
  id: string;
  phase: string;
  status: string;
  counts: Record<string, Record<string, number>>;
  skipped: Record<string, Record<string, number>>;
  workflowId: string;
  reason?: string | null;
  finishedAt: string | null;
}

/** A list of so many contacts with a phone, an email address and a name. */
export async function createList(
  api: ApiClient,
  contacts: number,
  prefix = 'p',
  firstPhone = 2_000_000,
): Promise<string> {
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
    name: `list ${prefix} ${Date.now()}`,
  });
  const lines = ['externalId,name,email,phone'];
  for (let i = 0; i < contacts; i++) {
    lines.push(`${prefix}${i},Person ${i},${prefix}${i}@example.com,+1202${String(firstPhone + i)}`);
  }
  const imported = await api.expect<{ data: { created: number; rejected: number } }>(
    'POST',
    `/api/contact-list/${data.id}/contacts`,
    lines.join('\n'),
    'text/csv',
  );
  if (imported.data.created !== contacts) throw new Error(`import: ${JSON.stringify(imported.data)}`);
  return data.id;
}

export async function createSmsTemplate(api: ApiClient, body = 'Hello {{NAME}}'): Promise<string> {
  const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
    templateName: `sms ${Date.now()} ${Math.random()}`,
    body,
    channel: 'sms',
  });
  return template.id;
}

export async function createSmsCampaign(
  api: ApiClient,
  listId: string,
  templateId: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
    campaignId: null,
    name: `campaign ${Date.now()}`,
    settings: { sms: { shortCode: '12345', templateId, version: 1 } },
    channel: ['sms'],
    contactListId: [listId],
    ...more,
  });
  return data.id;
}

export async function campaignDetail(api: ApiClient, id: string): Promise<CampaignDetail> {
  return (await api.expect<{ data: CampaignDetail }>('GET', `/api/campaign/${id}`)).data;
}

/** Follows a campaign until it is in one of the phases; fails with what it last saw. */
export async function untilPhase(
  api: ApiClient,
  id: string,
  phases: string[],
  limitMs: number,
  lookMs = 100,
): Promise<CampaignDetail> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const detail = await campaignDetail(api, id);
    // A campaign is canceled at once, and its counts follow until its run is closed.
    const isClosed = detail.phase !== 'canceled' || detail.finishedAt !== null;
    if (phases.includes(detail.phase) && isClosed) return detail;
    if (Date.now() > deadline) {
      throw new Error(`campaign is not ${phases.join('/')} after ${limitMs} ms: ${JSON.stringify(detail)}`);
    }
    await new Promise((done) => setTimeout(done, lookMs));
  }
}
