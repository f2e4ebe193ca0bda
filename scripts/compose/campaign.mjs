import { setTimeout as delay } from 'node:timers/promises';

const RETRY_LIMIT_MS = 120_000;

/** A backend of the proof: it repeats what could not be answered, because services are killed under it. */
export class Backend {
  #baseUrl;
  #credentials;
  #token;

  constructor(baseUrl, credentials) {
    this.#baseUrl = baseUrl;
    this.#credentials = credentials;
  }

  /** A call that creates something is repeated with the same key, so that it creates it once. */
  async call(method, path, body, contentType = 'application/json') {
    const key = crypto.randomUUID();
    const deadline = Date.now() + RETRY_LIMIT_MS;
    for (;;) {
      const answer = await this.#try(method, path, body, contentType, key).catch((error) => ({ error }));
      if (answer.status < 300) return answer.body;
      const mayPass = answer.error || answer.status >= 500 || [409, 425, 429].includes(answer.status);
      if (!mayPass || Date.now() > deadline) {
        throw new Error(
          `${method} ${path}: ${answer.error?.message ?? `${answer.status} ${JSON.stringify(answer.body)}`}`,
        );
      }
      await delay(250);
    }
  }

  async #try(method, path, body, contentType, key) {
    this.#token ??= await this.#newToken();
    const response = await fetch(`${this.#baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        'x-api-key': this.#credentials.apiKey,
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...(method === 'POST' ? { 'idempotency-key': key } : {}),
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  }

  async #newToken() {
    const { id, secret } = this.#credentials.client;
    const response = await fetch(`${this.#baseUrl}/api/v1/auth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    if (!response.ok) throw new Error(`the token endpoint answered ${response.status}`);
    return (await response.json()).access_token;
  }

  async detail(id) {
    return (await this.call('GET', `/api/campaign/${id}`)).data;
  }
}

/** An SMS campaign to so many numbers of the simulator, at so many a second. */
export async function startCampaign(backend, { recipients, perSecond }) {
  const { data: list } = await backend.call('POST', '/api/contact-list', { name: 'proof' });
  const lines = ['externalId,name,phone'];
  for (let i = 0; i < recipients; i++) lines.push(`p${i},Person ${i},+1202${2_000_000 + i}`);
  await backend.call('POST', `/api/contact-list/${list.id}/contacts`, lines.join('\n'), 'text/csv');
  const { template } = await backend.call('POST', '/api/template/', {
    ...{ templateName: 'proof', channel: 'sms', body: 'Hello {{NAME}}' },
  });
  const { data } = await backend.call('POST', '/api/campaign', {
    campaignId: null,
    name: 'proof',
    settings: { sms: { shortCode: '12345', templateId: template.id, version: 1 } },
    channel: ['sms'],
    contactListId: [list.id],
    delivery: { ratePerSecond: perSecond },
  });
  return data.id;
}
