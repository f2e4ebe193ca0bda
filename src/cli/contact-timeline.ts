import { z } from 'zod';
import type { ApiClient } from './api-client';
import { print, printable } from './command';

export interface TimelineOptions {
  limit: string;
  json?: boolean;
}

const timeline = z.object({
  data: z.array(z.looseObject({ kind: z.string(), at: z.string() })),
  next: z.string().nullable(),
});
type Entry = z.output<typeof timeline>['data'][number];

export async function showTimeline(api: ApiClient, id: string, options: TimelineOptions): Promise<void> {
  const path = `/api/contact/${encodeURIComponent(id)}/timeline?limit=${encodeURIComponent(options.limit)}`;
  const { data, next } = await api.get(path, timeline);
  const lines = data.map((entry) => `${entry.at}  ${printable(textOf(entry))}`);
  if (data.length === 0) lines.push('Nothing is known of this contact.');
  if (next !== null) lines.push('and more; --limit shows up to 200');
  print(options.json, { data, next }, lines);
}

function textOf(entry: Entry): string {
  const {
    kind,
    channel,
    campaign,
    state,
    code,
    reason,
    policyVersion,
    messages,
    uid,
    source,
    since,
    liftedBy,
  } = entry;
  const because = code ? ` (${code})` : '';
  const policy = policyVersion ? `, policy ${policyVersion}` : '';
  switch (kind) {
    case 'recipient': {
      const count = Array.isArray(messages) ? messages.length : 0;
      return `${channel} of "${campaign}": ${state}${because}, ${count} messages${policy}`;
    }
    case 'skipped':
      return `${channel} of "${campaign}": left out, ${reason}${policy}`;
    case 'send':
      return `${channel}, durable send ${uid}: ${state}${because}`;
    case 'cap_place':
      return `${channel}: message ${uid} counts for caps`;
    case 'suppression':
      return `${channel}: suppressed, ${reason} (${source})`;
    case 'suppression_lifted':
      return `${channel}: suppressed no longer, lifted by ${liftedBy}; since ${since} ${reason} (${source})`;
    default:
      return kind;
  }
}
