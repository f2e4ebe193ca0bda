import { type Kysely, sql } from 'kysely';
import { BoundedCache } from '../../domain/bounded-cache';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { type CompiledText, compileText } from '../../domain/template';
import { type CompiledFlowTexts, compileFlowTexts } from '../../domain/voice/flow-texts';
import { documentKeys, type OptOutKeys } from '../../domain/voice/opt-out-keys';
import type { MessagingTables } from '../model/tables';
import { selectTemplateVersion } from './template-query';

/** One immutable version of a template, compiled once and filled many times. */
export interface CompiledTemplate {
  readonly templateId: string;
  readonly version: number;
  readonly channel: Channel;
  /** Email only. */
  readonly subject?: CompiledText | undefined;
  readonly body: CompiledText;
  /** Email only: the plain-text part derived from the body. */
  readonly text?: CompiledText | undefined;
  /** Voice only: the flow, which is sent with the document (api.md 12). */
  readonly flow?: CompiledFlowTexts | undefined;
  /** Voice only: the opt-out keys. */
  readonly optOut?: OptOutKeys | undefined;
  /** Placeholders of all parts together, in the order in which they first appear. */
  readonly placeholders: readonly string[];
}

export interface TemplateVersions {
  /**
   * A version of a template of this workspace. Without a number it is the newest version of a live template.
   * With one, versions of an archived template are found too, because messages pin them.
   */
  get(workspaceId: string, templateId: string, version?: number): Promise<CompiledTemplate | undefined>;
  /** The same at once, when this process knows it. */
  known(workspaceId: string, templateId: string, version?: number): CompiledTemplate | undefined;
  /** Call it when a new version was written, so that this process uses it at once. */
  changed(workspaceId: string, templateId: string): void;
}

/** How long another process may still take an older version for the newest. */
const NEWEST_KNOWN_FOR_MS = 1_000;

export function createTemplateVersions(db: Kysely<MessagingTables>): TemplateVersions {
  const versions = new BoundedCache<CompiledTemplate>(LIMITS.templateCacheChars);
  const newest = new BoundedCache<{ version: number; readAt: number }>(LIMITS.templateCacheEntries);
  const loading = new Map<string, Promise<CompiledTemplate | undefined>>();

  async function load(workspaceId: string, templateId: string, version: number | undefined) {
    const row = await readVersion(db, workspaceId, templateId, version);
    if (!row) return undefined;
    const compiled = compileTemplate(row);
    versions.set(
      `${workspaceId}/${templateId}/${row.version}`,
      compiled,
      row.body.length + (row.text?.length ?? 0) + (compiled.flow?.chars ?? 0) + 1_000,
    );
    return compiled;
  }

  function known(workspaceId: string, templateId: string, version: number | undefined) {
    const key = `${workspaceId}/${templateId}`;
    if (version !== undefined) return versions.get(`${key}/${version}`);
    const last = newest.get(key);
    // A clock that was set back would keep it the newest until the clock is there again.
    if (!last || Math.abs(Date.now() - last.readAt) >= NEWEST_KNOWN_FOR_MS) return undefined;
    return versions.get(`${key}/${last.version}`);
  }

  return {
    known,
    async get(workspaceId, templateId, version) {
      const key = `${workspaceId}/${templateId}`;
      const cached = known(workspaceId, templateId, version);
      if (cached) return cached;

      // Many messages of one campaign ask at the same moment; one of them reads for all.
      const flight = `${key}/${version ?? 'newest'}`;
      const running = loading.get(flight);
      if (running) return running;
      const readAt = Date.now();
      const started = load(workspaceId, templateId, version)
        .then((found) => {
          // Not cached if changed() was called meanwhile, because the version read may be the previous one.
          const current = loading.get(flight) === started;
          if (found && version === undefined && current) newest.set(key, { version: found.version, readAt });
          return found;
        })
        .finally(() => {
          if (loading.get(flight) === started) loading.delete(flight);
        });
      loading.set(flight, started);
      return started;
    },
    changed(workspaceId, templateId) {
      newest.delete(`${workspaceId}/${templateId}`);
      loading.delete(`${workspaceId}/${templateId}/newest`);
    },
  };
}

/** The columns of a version that are compiled. */
interface VersionRow {
  id: string;
  channel: Channel;
  version: number;
  subject: string | null;
  body: string;
  text: string | null;
  /** Read for voice only. */
  design: Record<string, unknown> | null;
}

async function readVersion(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  templateId: string,
  version: number | undefined,
): Promise<VersionRow | undefined> {
  return (
    selectTemplateVersion(db, workspaceId, templateId, version)
      .select(['t.id', 't.channel', 'v.version', 'v.subject', 'v.body', 'v.text_body as text'])
      // An email's layout may have megabytes, and is not sent.
      .select(sql<VersionRow['design']>`case when t.channel = 'voice' then v.design end`.as('design'))
      .executeTakeFirst()
  );
}

export function compileTemplate(row: VersionRow): CompiledTemplate {
  const identity = { templateId: row.id, version: row.version, channel: row.channel };
  if (row.channel === 'sms') {
    const body = compileText(row.body, 'none');
    return { ...identity, body, placeholders: body.placeholders };
  }
  if (row.channel === 'voice') {
    const body = compileText(row.body, 'xml');
    // Placeholders of the flow alone need no values, because only the document is run.
    const flow = row.design === null ? undefined : compileFlowTexts(row.design);
    return { ...identity, body, flow, optOut: documentKeys(row.body), placeholders: body.placeholders };
  }
  const subject = compileText(row.subject ?? '', 'none');
  const body = compileText(row.body, 'html');
  // Braces that markup kept apart may meet in the text; these are no placeholders and need no values.
  const text = row.text === null ? undefined : compileText(row.text, 'none', new Set(body.placeholders));
  return {
    ...identity,
    subject,
    body,
    text,
    placeholders: [...new Set([...subject.placeholders, ...body.placeholders])],
  };
}
