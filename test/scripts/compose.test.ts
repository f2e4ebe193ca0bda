/** Proves how the compose file is read, and what of it is replaced where there is no container engine. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
  mounts: { source: string; target: string }[];
}

/** What an expression comes to beside the exports of a script, which Jest cannot load: it is a module, as Node reads them. */
function evaluate<Value>(script: string, expression: string, given: unknown = null): Value {
  const path = JSON.stringify(pathToFileURL(join(ROOT, 'scripts', 'compose', script)).href);
  const code = `import * as script from ${path}; const given = ${JSON.stringify(given)};
    process.stdout.write(JSON.stringify(${expression}));`;
  const args = ['--input-type=module', '--eval', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' })) as Value;
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
    expect(named('serve').environment.DATABASE_URL).toBe(
      'postgres://fanfare:fanfare@postgresql:5432/fanfare',
    );
    const other = named('serve', read({ FANFARE_POSTGRES_PASSWORD: 'secret' }));
    expect(other.environment.DATABASE_URL).toBe('postgres://fanfare:secret@postgresql:5432/fanfare');
    expect(named('temporal').environment).toMatchObject({ DB: 'postgres12', POSTGRES_USER: 'temporal' });
    expect(named('serve').healthcheck?.limitMs).toBe(90_000);
  });

  test('lets our processes write to their volume alone, with no rights to gain', () => {
    for (const name of ['serve', 'worker']) {
      expect(named(name)).toMatchObject({
        isReadOnly: true,
        capDrop: ['ALL'],
        securityOpt: ['no-new-privileges:true'],
        mounts: [{ source: 'fanfare-data', target: '/data' }],
      });
    }
  });

  test('gives Temporal a role that is not ours, and neither is the superuser', () => {
    const users = [
      named('temporal').environment.POSTGRES_USER,
      named('temporal-schema').environment.SQL_USER,
      new URL(named('serve').environment.DATABASE_URL ?? '').username,
      named('postgresql-roles').environment.PGUSER,
    ];
    expect(users).toEqual(['temporal', 'temporal', 'fanfare', 'postgres']);
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
    expect(values({ FANFARE_DATA_DIR: '/data', SCRIPT: "a=/data/x '/data' /database" })).toEqual({
      FANFARE_DATA_DIR: '/here',
      SCRIPT: "a=/here/x '/here' /database",
    });
  });
});
