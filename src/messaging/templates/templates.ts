import { type Kysely, sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import { type IdGenerator, RANDOM } from '../access/id-generator';
import type { MessagingTables } from '../model/tables';
import { listTemplates, type TemplateList, type TemplateListInput } from './template-list';
import { versionOf } from './template-parts';
import { selectTemplateVersion } from './template-query';
import type {
  ListedVersion,
  Template,
  TemplateContent,
  VersionContent,
  VersionOrigin,
} from './template-record';
import type { TemplateVersions } from './template-versions';

export interface Templates {
  /** Fails with `name_taken`, and with `invalid_request` for a layout that cannot be rendered. */
  create(
    workspaceId: string,
    channel: Channel,
    content: TemplateContent,
    generator?: IdGenerator,
    origin?: VersionOrigin,
  ): Promise<Template>;
  /**
   * Writes a new version, once for each generator. Fails as `create` does, with `not_found`, and with
   * `invalid_request` for another channel.
   */
  replace(
    workspaceId: string,
    id: string,
    channel: Channel,
    content: TemplateContent,
    generator?: IdGenerator,
    origin?: VersionOrigin,
  ): Promise<Template>;
  /** Removes the template from lists and from new use; pinned versions stay readable. */
  archive(workspaceId: string, id: string): Promise<void>;
  /** As TemplateVersions.get: without a version, live templates only. */
  read(workspaceId: string, id: string, version?: number): Promise<Template | undefined>;
  list(workspaceId: string, input: TemplateListInput): Promise<TemplateList>;
  /** All versions of a template, archived ones too, newest first. Fails with `not_found`. */
  versions(workspaceId: string, id: string): Promise<ListedVersion[]>;
}

export interface TemplatesDeps {
  db: Kysely<MessagingTables>;
  versions: TemplateVersions;
}

export function createTemplates({ db, versions }: TemplatesDeps): Templates {
  return {
    async create(workspaceId, channel, given, generator = RANDOM, origin = {}) {
      const content = versionOf(channel, given);
      const id = generator.id('tpl');
      return db
        .transaction()
        .execute((tx) => insertTemplate(tx, { workspaceId, id, channel }, content, origin));
    },
    async replace(workspaceId, id, channel, given, generator = RANDOM, origin = {}) {
      const content = versionOf(channel, given);
      const madeBy = generator.id('tpv');
      const replaced = await db
        .transaction()
        .execute((tx) => insertNextVersion(tx, { workspaceId, id, channel }, content, { ...origin, madeBy }))
        .catch(refuseTakenName);
      versions.changed(workspaceId, id);
      return replaced;
    },
    async archive(workspaceId, id) {
      await db.transaction().execute((tx) => archiveTemplate(tx, workspaceId, id));
      versions.changed(workspaceId, id);
    },
    read: (workspaceId, id, version) => readTemplate(db, workspaceId, id, version),
    list: (workspaceId, input) => listTemplates(db, workspaceId, input),
    versions: (workspaceId, id) => listVersions(db, workspaceId, id),
  };
}

interface TemplateKey {
  workspaceId: string;
  id: string;
  channel: Channel;
}

async function insertTemplate(
  tx: Transaction<MessagingTables>,
  { workspaceId, id, channel }: TemplateKey,
  content: VersionContent,
  origin: VersionOrigin,
): Promise<Template> {
  const at = new Date();
  const inserted = await tx
    .insertInto('templates')
    .values({
      id,
      workspace_id: workspaceId,
      channel,
      name: content.name,
      current_version: 1,
      search_text: searchTextOf(content),
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) {
    // An id that exists was created by an earlier attempt of this call.
    const made = await readTemplate(tx, workspaceId, id, 1);
    if (made) return made;
    throw nameTaken();
  }
  await insertVersion(tx, id, 1, content, origin);
  await countLive(tx, { workspaceId, channel, change: 1 });
  return { ...content, id, channel, version: 1, createdAt: at, updatedAt: at };
}

async function insertNextVersion(
  tx: Transaction<MessagingTables>,
  { workspaceId, id, channel }: TemplateKey,
  content: VersionContent,
  origin: VersionOrigin & { madeBy: string },
): Promise<Template> {
  const current = await tx
    .selectFrom('templates')
    .select(['channel', 'current_version', 'created_at'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (!current) throw noTemplate(id);
  if (current.channel !== channel) {
    const message = `Template ${id} is for ${current.channel}, which does not change; create another template for ${channel}`;
    throw new DomainError('invalid_request', `channel: ${message}`, {
      errors: [{ path: 'channel', code: 'immutable', message }],
    });
  }
  const createdAt = current.created_at;
  const made = await tx
    .selectFrom('template_versions')
    .select(['version', 'created_at'])
    .where('template_id', '=', id)
    .where('made_by', '=', origin.madeBy)
    .executeTakeFirst();
  if (made) return { ...content, id, channel, version: made.version, createdAt, updatedAt: made.created_at };
  const version = current.current_version + 1;
  const updatedAt = new Date();
  await tx
    .updateTable('templates')
    .set({
      name: content.name,
      current_version: version,
      search_text: searchTextOf(content),
      updated_at: updatedAt,
    })
    .where('id', '=', id)
    .execute();
  await insertVersion(tx, id, version, content, { ...origin, at: updatedAt });
  return { ...content, id, channel, version, createdAt, updatedAt };
}

async function archiveTemplate(
  tx: Transaction<MessagingTables>,
  workspaceId: string,
  id: string,
): Promise<void> {
  const archived = await tx
    .updateTable('templates')
    .set({ archived_at: new Date() })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .returning('channel')
    .executeTakeFirst();
  if (!archived) throw noTemplate(id);
  await countLive(tx, { workspaceId, channel: archived.channel, change: -1 });
}

/**
 * Must be last in its transaction: until that ends, no other call can create or archive templates of this
 * channel.
 */
async function countLive(
  tx: Transaction<MessagingTables>,
  { workspaceId, channel, change }: { workspaceId: string; channel: Channel; change: 1 | -1 },
): Promise<void> {
  await tx
    .insertInto('template_counts')
    .values({ workspace_id: workspaceId, channel, live: change })
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'channel'])
        .doUpdateSet({ live: sql`template_counts.live + excluded.live` }),
    )
    .execute();
}

async function insertVersion(
  tx: Transaction<MessagingTables>,
  templateId: string,
  version: number,
  content: VersionContent,
  { by, note, madeBy, at }: VersionOrigin & { madeBy?: string; at?: Date },
): Promise<void> {
  await tx
    .insertInto('template_versions')
    .values({
      template_id: templateId,
      version,
      subject: content.subject,
      body: content.body,
      text_body: content.text,
      email_provider_id: content.emailProviderId,
      design: content.design && sql<string>`${JSON.stringify(content.design)}::jsonb`,
      created_by: by ?? null,
      note: note ?? null,
      ...(madeBy && { made_by: madeBy }),
      ...(at && { created_at: at }),
    })
    .execute();
}

async function readTemplate(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  id: string,
  version: number | undefined,
): Promise<Template | undefined> {
  return selectTemplateVersion(db, workspaceId, id, version)
    .select([
      't.id',
      't.channel',
      't.name',
      'v.version',
      't.created_at as createdAt',
      't.updated_at as updatedAt',
    ])
    .select([
      'v.subject',
      'v.body',
      'v.text_body as text',
      'v.email_provider_id as emailProviderId',
      'v.design',
    ])
    .executeTakeFirst();
}

async function listVersions(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  id: string,
): Promise<ListedVersion[]> {
  const versions = await db
    .selectFrom('template_versions as v')
    .innerJoin('templates as t', 't.id', 'v.template_id')
    .select(['v.version', 'v.created_at as createdAt', 'v.created_by as createdBy', 'v.note'])
    .where('t.id', '=', id)
    .where('t.workspace_id', '=', workspaceId)
    .orderBy('v.version', 'desc')
    .execute();
  if (versions.length === 0) throw notInWorkspace(`template ${id}`, '/api/template');
  return versions;
}

/** U+001F separates the parts. No search term contains it, so that a term never matches across two parts. */
function searchTextOf({ name, subject, body, design }: VersionContent): string {
  // An email's layout may have a block called `nodes` with any content.
  const nodes: unknown[] = Array.isArray(design?.nodes) ? design.nodes : [];
  const spoken = nodes
    .map((node) => (node as { data?: { text?: unknown } | null } | null)?.data?.text)
    .filter((text) => typeof text === 'string');
  return [name, subject ?? '', body, ...spoken].join('\u001f').toLowerCase();
}

const noTemplate = (id: string) => notInWorkspace(`live template ${id}`, '/api/template');
const nameTaken = () =>
  new DomainError('name_taken', 'Another template of this channel has this name; choose another name');

const UNIQUE_VIOLATION = '23505';

function refuseTakenName(error: unknown): never {
  throw (error as { code?: unknown }).code === UNIQUE_VIOLATION ? nameTaken() : error;
}
