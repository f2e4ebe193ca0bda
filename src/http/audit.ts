import type { AuditReader } from '../audit/audit-log';
import { auditChain, auditEntries, auditQuery } from '../contracts/audit';
import { answer } from '../contracts/common';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

const HASH = '3b5c1a7e9d2f4860b1c3d5e7f9a0b2c4d6e8f0a1b3c5d7e9f1a2b4c6d8e0f2a4';
const ENTRY = {
  id: EXAMPLE.auditEntry,
  at: EXAMPLE.at,
  actor: { kind: 'user' as const, id: EXAMPLE.user },
  address: '192.0.2.10',
  requestId: '0f3e6c1a-2b4d-4e8f-9a7c-5d1b3e7f9a2c',
  action: 'campaign.start' as const,
  object: { kind: 'campaign', id: EXAMPLE.campaign },
  result: 'ok' as const,
  detail: {},
  prev: null,
  hash: HASH,
};

const listAudit: Operation = {
  id: 'listAudit',
  access: { role: 'admin' },
  tag: 'Administration',
  summary: 'Read the audit log',
  description:
    'Who did what in the workspace: changes, log-ins, and refusals of callers that are known, newest first unless `order` says otherwise. Each entry has the hash of the one before it, so that a change of any is found; docs/audit.md tells how to check it. Entries are written in the transaction of what they tell, are never changed, and hold ids only.',
  parameters: { limit: '100' },
  answers: {
    200: json('A page of entries.', auditEntries, { ...answered(200, 'Audit', [ENTRY]), next: null }),
  },
  errors: ['invalid_request'],
};

const readAuditChain: Operation = {
  id: 'readAuditChain',
  access: { role: 'admin' },
  tag: 'Administration',
  summary: 'Where the audit log begins and ends',
  description:
    'What a reader of the whole log holds it against: how many entries were written, the hash of the newest, and where retention has cut the beginning off, which is sealed when it happens. An entry that is missing at either end is found by it.',
  answers: {
    200: json(
      'Both ends.',
      auditChain,
      answered(200, 'Audit chain', { written: 1, last: HASH, start: null }),
    ),
  },
};

/** The audit log of the caller's workspace, for its administrators (api.md 17). */
export function auditRoutes(audit: AuditReader): (app: App) => void {
  const config = { auth: 'session' } as const;
  return (app) => {
    app.get(
      '/api/admin/audit',
      { config, schema: { operation: listAudit, querystring: auditQuery } },
      async (request) => {
        const { cursor, ...query } = request.query;
        const after = cursor === undefined ? undefined : Number(cursor);
        const { entries, next } = await audit.entries(callerOf(request).workspaceId, { ...query, after });
        return { ...answer(200, 'Audit', entries), next: next === null ? null : String(next) };
      },
    );

    app.get('/api/admin/audit/chain', { config, schema: { operation: readAuditChain } }, async (request) =>
      answer(200, 'Audit chain', await audit.chain(callerOf(request).workspaceId)),
    );
  };
}
