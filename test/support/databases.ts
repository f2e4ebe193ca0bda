import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { openStorage } from '../../src/storage/storage';
import { postgresUrl, templateDatabase } from './services';

/**
 * Databases of the run's PostgreSQL server. One of them is migrated once a run and copied for each test that
 * needs tables, because a copy takes a third of the time that migrating takes.
 */
export async function cloneDatabase(name: string): Promise<string> {
  const template = await templateDatabase();
  // The server refuses to copy a database while another session copies it; that is over in a moment.
  // Copying files takes less time than writing each page to the log, which is what a server does by itself.
  return createDatabase(name, `template "${template}" strategy file_copy`);
}

export async function emptyDatabase(name: string): Promise<string> {
  return createDatabase(name, 'template template0');
}

/** Dropped with its sessions: a test that ends a process by force leaves some. */
export async function dropDatabase(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await onServer(`drop database if exists "${name}" with (force)`);
}

/** Makes the database that `cloneDatabase` copies; called once a run. */
export async function makeTemplate(serverUrl: string): Promise<{ value: string; stop(): Promise<void> }> {
  const name = `template_${process.pid}`;
  const databaseUrl = urlOf(serverUrl, name);
  await execute(serverUrl, `drop database if exists "${name}" with (force)`);
  await execute(serverUrl, `create database "${name}" template template0`);
  const storage = await openStorage({ databaseUrl, poolSize: 1 });
  await storage.close();
  return { value: name, stop: () => execute(serverUrl, `drop database if exists "${name}" with (force)`) };
}

export const newDatabaseName = () => `test_${randomUUID().replaceAll('-', '')}`;

async function createDatabase(name: string, options: string): Promise<string> {
  await onServer(`create database "${name}" ${options}`);
  return urlOf(await postgresUrl(), name);
}

function urlOf(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(statement: string): Promise<void> {
  await execute(await postgresUrl(), statement);
}

/** `object_in_use`: another session copies the template, or has not left yet. */
const IN_USE = '55006';
const TRIES_MAX = 50;

async function execute(serverUrl: string, statement: string, tries = 1): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(statement);
  } catch (error) {
    if ((error as { code?: unknown }).code !== IN_USE || tries === TRIES_MAX) throw error;
    await new Promise((done) => setTimeout(done, 20));
    return await execute(serverUrl, statement, tries + 1);
  } finally {
    await client.end();
  }
}
