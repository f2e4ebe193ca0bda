/** Operations of the contract (api.md 15–17) that the generated types do not have yet. */
export interface OwnSession {
  id: string;
  createdAt: string;
  lastSeenAt: string;
  address: string | null;
  userAgent: string | null;
  current: boolean;
}

export interface ListSessionsData {
  url: '/api/sessions';
}

export interface EndSessionData {
  url: '/api/sessions/{id}';
  path: { id: string };
}

export interface ChangePasswordData {
  url: '/api/session/password';
  body: { current: string; new: string };
}

export interface TotpData {
  url: '/api/session/totp';
  body?: { code?: string };
}

export interface ResetTotpData {
  url: '/api/admin/users/{id}/totp';
  path: { id: string };
}

export interface AuditEntry {
  id: string;
  at: string;
  actor: { kind: 'user' | 'client' | 'key' | 'system'; id: string | null };
  address: string | null;
  requestId: string | null;
  action: string;
  object: { kind: string; id: string | null };
  result: 'ok' | 'refused' | 'failed';
  detail: Record<string, unknown>;
}

export interface ReadAuditData {
  url: '/api/admin/audit';
  query: {
    cursor?: string;
    limit?: number;
    actor?: string;
    action?: string;
    object?: string;
    from?: string;
    to?: string;
  };
}

export interface Sender {
  id: string;
  workspace: string;
  channel: 'email' | 'sms' | 'voice';
  sender: string;
  dkim?: { selector: string } | null;
}

export interface SendersData {
  url: '/api/admin/senders';
  body?: {
    workspace: string;
    channel: string;
    sender: string;
    dkim?: { selector: string; privateKey: string };
  };
}

export interface DeleteSenderData {
  url: '/api/admin/senders/{id}';
  path: { id: string };
}
