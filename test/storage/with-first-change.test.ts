import { Client, type QueryResult } from 'pg';
import { accompanied, Companion, withFirstChange } from '../../src/storage/with-first-change';
import { describeWithDatabase } from '../support/storage';

/** A statement that is committed with the first change of a piece of work, or not at all. */
describeWithDatabase('a companion of the first change', (database) => {
  let client: Client;
  let sent: string[];
  beforeEach(async () => {
    const { databaseUrl } = await database.place();
    client = new Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(
      'create table changes (name text primary key); create table notes (text text not null)',
    );
    sent = [];
  });
  afterEach(() => client.end());

  const connection = () =>
    accompanied({
      async query(text, values): Promise<QueryResult> {
        sent.push(text);
        return client.query(text, values);
      },
      release: () => undefined,
    });
  const noting = (text: string | null) =>
    new Companion(() => ({ text: 'insert into notes select $1 where $2 is null', values: [text, null] }));
  const notes = async () => (await client.query('select text from notes')).rows.map(({ text }) => text);
  const transaction = async (companion: Companion, ...statements: string[]) =>
    withFirstChange(companion, async () => {
      const used = connection();
      try {
        for (const text of ['begin', ...statements, 'commit']) await used.query(text, []);
      } catch (error) {
        await used.query('rollback', []);
        throw error;
      }
    });

  test('is sent in one message with the commit, so that its locks wait for no answer', async () => {
    await transaction(noting("it's \\ $1"), "insert into changes values ('a')");
    expect(await notes()).toEqual(["it's \\ $1"]);
    expect(sent.at(-1)).toMatch(/^insert into notes .*;\ncommit$/s);
  });

  test('is written once, with the first transaction that changes something', async () => {
    const companion = noting('once');
    await transaction(companion, 'select 1');
    expect(await notes()).toEqual([]);
    await transaction(companion, "insert into changes values ('a')");
    await transaction(companion, "insert into changes values ('b')");
    expect(await notes()).toEqual(['once']);
  });

  test('takes the change with it when it fails, and is tried again with the next', async () => {
    let text: string | null = null;
    const companion = new Companion(() => ({ text: 'insert into notes values ($1)', values: [text] }));
    await expect(transaction(companion, "insert into changes values ('a')")).rejects.toThrow('null value');
    expect((await client.query('select from changes')).rowCount).toBe(0);
    text = 'again';
    await transaction(companion, "insert into changes values ('a')");
    expect(await notes()).toEqual(['again']);
  });

  test('is not written with the note of an Idempotency-Key alone', async () => {
    await client.query('create table if not exists idempotency_keys (note text)');
    const noted = "insert into idempotency_keys values ('a') returning 1 as attempt";
    await transaction(noting('never'), noted);
    const companion = noting('with the change');
    await withFirstChange(companion, () => connection().query(noted, []));
    expect(await notes()).toEqual([]);
    await transaction(companion, noted, "insert into changes values ('a')");
    expect(await notes()).toEqual(['with the change']);
  });

  test('makes a statement without a transaction one', async () => {
    await withFirstChange(noting('alone'), () => connection().query("insert into changes values ('a')", []));
    expect(await notes()).toEqual(['alone']);
    expect(sent[0]).toBe('begin');
  });
});
