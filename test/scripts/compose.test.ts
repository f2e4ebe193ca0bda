/** Proves how the compose file is read, and what of it is replaced where there is no container engine. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/root';

interface Service {
  name: string;
  environment: Record<string, string>;
  dependsOn: { service: string; condition: string }[];
  isReadOnly: boolean;
  capDrop: string[];
  securityOpt: string[];
  healthcheck?: { limitMs: number };
  mounts: { source: string; target: string; isReadOnly: boolean }[];
}

/** What an expression comes to beside the exports of a script, which Jest cannot load: it is a module, as Node reads them. */
function evaluate<Value>(script: string, expression: string, given: unknown = null): Value {
  const path = JSON.stringify(pathToFileURL(join(ROOT, 'scripts', 'compose', script)).href);
  const code = `import * as script from ${path}; const given = ${JSON.stringify(given)};
    process.stdout.write(JSON.stringify(${expression}));`;
  const args = ['--input-type=module', '--eval', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' })) as Value;
}

/** What docker/make-secrets.sh leaves in a folder that has some of the files. */
function makeSecrets(there: Record<string, string> = {}): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-secrets-'));
  for (const [name, text] of Object.entries(there)) writeFileSync(join(folder, name), text);
  const env = { ...process.env, FANFARE_SECRETS_DIR: folder };
  execFileSync('sh', [join(ROOT, 'docker/make-secrets.sh')], { env });
  const made = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
  rmSync(folder, { recursive: true });
  return Object.fromEntries(made);
}

describe('docker-compose.yml', () => {
  const read = (env: Record<string, string> = {}, file = join(ROOT, 'docker-compose.yml')) =>
    evaluate<Service[]>('compose-file.mjs', 'script.readCompose(given.file, given.env)', { file, env });
  let services: Service[];
  beforeAll(() => {
    services = read();
  });
  const named = (name: string, among = services) => among.find((service) => service.name === name) as Service;

  test('is understood as a whole, with the variables of the shell in place', () => {
    expect(services.length).toBeGreaterThan(6);
    expect(named('serve').environment.FANFARE_PUBLIC_URL).toBe('http://127.0.0.1:8080');
    const other = named('serve', read({ FANFARE_PUBLIC_URL: 'https://fanfare.example.com' }));
    expect(other.environment.FANFARE_PUBLIC_URL).toBe('https://fanfare.example.com');
    expect(named('temporal').environment).toMatchObject({ DB: 'postgres12', POSTGRES_USER: 'temporal' });
    expect(named('serve').healthcheck?.limitMs).toBe(90_000);
  });

  test('lets our processes write to their volume alone, with no rights to gain', () => {
    for (const name of ['serve', 'worker']) {
      expect(named(name)).toMatchObject({
        isReadOnly: true,
        capDrop: ['ALL'],
        securityOpt: ['no-new-privileges:true'],
        mounts: [
          { source: 'fanfare-data', target: '/data', isReadOnly: false },
          { source: './docker/secrets/database_url', target: '/run/secrets/database_url', isReadOnly: true },
          { source: './docker/secrets/secrets_key', target: '/run/secrets/secrets_key', isReadOnly: true },
        ],
      });
    }
  });

  test('gives Temporal a role that is not ours, and neither is the superuser', () => {
    const users = [
      named('temporal').environment.POSTGRES_USER,
      named('temporal-schema').environment.SQL_USER,
      new URL(makeSecrets().database_url ?? '').username,
      named('postgresql-roles').environment.PGUSER,
    ];
    expect(users).toEqual(['temporal', 'temporal', 'fanfare', 'postgres']);
  });

  test('has passwords that no other installation has, and that stay when they are made again', () => {
    const [one, other] = [makeSecrets(), makeSecrets()];
    const names = [
      'database_url',
      'fanfare_password',
      'secrets_key',
      'superuser_password',
      'temporal_password',
    ];
    expect(Object.keys(one).sort()).toEqual(names);
    for (const name of names) expect([name, one[name] === other[name]]).toEqual([name, false]);
    expect(new Set(Object.values(one)).size).toBe(names.length);
    expect(new URL(one.database_url ?? '').password).toBe(one.fanfare_password);
    expect(Buffer.from(one.secrets_key ?? '', 'base64')).toHaveLength(32);
    expect(makeSecrets(one)).toEqual(one);
  });

  test('names no secret, but the files that hold them', () => {
    for (const { environment } of services) {
      const inClear = Object.keys(environment).filter((name) => /PASSWORD|PWD|SECRET|_KEY|_URL$/.test(name));
      const harmless = /_FILE$|^FANFARE_(PUBLIC|AUTH|SEND|APP)_URL$/;
      expect(inClear.filter((name) => !harmless.test(name))).toEqual([]);
    }
    const elsewhere = read({ FANFARE_SECRETS_DIR: '/etc/fanfare' });
    expect(named('temporal', elsewhere).mounts.map(({ source }) => source)).toContain(
      '/etc/fanfare/temporal_password',
    );
  });

  test('depends on services that exist, and is refused with a key that nothing here understands', () => {
    const names = services.map(({ name }) => name);
    for (const { dependsOn } of services) {
      expect(names).toEqual(expect.arrayContaining(dependsOn.map(({ service }) => service)));
    }
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-compose-'));
    const file = join(directory, 'compose.yml');
    writeFileSync(file, 'services:\n  a:\n    image: x:1\n    privileged: true\n');
    expect(() => read({}, file)).toThrow('a: privileged is not understood here');
    rmSync(directory, { recursive: true });
  });

  test('gives a process room for what is beside its heap, so that a full heap is named and not killed', () => {
    const heapMb = Number(
      /--max-old-space-size=(\d+)/.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1],
    );
    const gb = Number(
      /^ {2}mem_limit: (\d+)g$/m.exec(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))?.[1],
    );
    expect(gb * 1024 - heapMb).toBeGreaterThanOrEqual(768);
  });

  test('has the environment of our image beneath its own', () => {
    const dockerfile = join(ROOT, 'Dockerfile');
    expect(evaluate('compose-file.mjs', 'script.imageEnvironment(given)', dockerfile)).toMatchObject({
      NODE_ENV: 'production',
      FANFARE_DATA_DIR: '/data',
      NODE_OPTIONS: expect.stringContaining('--max-old-space-size'),
    });
  });
});

describe('what stands in for the network of the containers', () => {
  const names = ['postgresql', 'temporal', 'serve'];
  const paths = [['/data', '/here']];
  const [database = '', temporal = '', own = ''] = evaluate<string[]>(
    'places.mjs',
    '((places) => [...given, ...given].map((name) => places.address(name)))(new script.Places(7))',
    names,
  );
  const values = (variables: Record<string, string>) =>
    evaluate<Record<string, string>>(
      'places.mjs',
      `((places) => {
        for (const name of given.names) places.address(name);
        return Object.fromEntries(Object.entries(given.variables).map(
          ([name, text]) => [name, places.value(name, text, given)]));
      })(new script.Places(7))`,
      { names, variables, own, paths },
    );

  test('gives each service an address of its own', () => {
    expect(new Set([database, temporal, own]).size).toBe(3);
    for (const one of [database, temporal, own]) expect(one).toMatch(/^127\.77\.7\.\d+$/);
  });

  test('replaces hosts where a host can stand, and nothing that is only called alike', () => {
    expect(
      values({
        DATABASE_URL: 'postgres://temporal:temporal@postgresql:5432/temporal',
        TEMPORAL_ADDRESS: 'temporal:7233',
        POSTGRES_SEEDS: 'postgresql',
        POSTGRES_USER: 'temporal',
        FANFARE_HTTP_HOST: '0.0.0.0',
        FANFARE_PUBLIC_URL: 'http://127.0.0.1:8080',
      }),
    ).toEqual({
      DATABASE_URL: `postgres://temporal:temporal@${database}:5432/temporal`,
      TEMPORAL_ADDRESS: `${temporal}:7233`,
      POSTGRES_SEEDS: database,
      POSTGRES_USER: 'temporal',
      FANFARE_HTTP_HOST: own,
      FANFARE_PUBLIC_URL: `http://${own}:8080`,
    });
  });

  test('replaces folders at the beginning of paths', () => {
    expect(
      values({ FANFARE_DATA_DIR: '/data', SCRIPT: "a=/data/x '/data' /database $(cat /data);" }),
    ).toEqual({
      FANFARE_DATA_DIR: '/here',
      SCRIPT: "a=/here/x '/here' /database $(cat /here);",
    });
  });
});
