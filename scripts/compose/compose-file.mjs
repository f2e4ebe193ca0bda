import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/**
 * Reads a compose file as far as ours goes, and refuses what it does not understand: a proof that skips a line proves
 * nothing of it. The parser is the one that a package of the product brings.
 */
const require = createRequire(import.meta.url);
const { parse } = createRequire(require.resolve('@fastify/swagger-ui'))('yaml');

const UNDERSTOOD = new Set([
  ...[
    'image',
    'build',
    'command',
    'entrypoint',
    'environment',
    'depends_on',
    'healthcheck',
    'volumes',
    'ports',
  ],
  ...['restart', 'stop_grace_period', 'init', 'read_only', 'tmpfs', 'cap_drop', 'security_opt', 'secrets'],
  ...['mem_limit', 'pids_limit'],
]);

/** Services by name, with variables of `env` in place. */
export function readCompose(file, env) {
  const tree = substituted(parse(readFileSync(file, 'utf8'), { merge: true }), env);
  const secrets = tree.secrets ?? {};
  return Object.entries(tree.services).map(([name, service]) => {
    const strange = Object.keys(service).filter((key) => !UNDERSTOOD.has(key));
    if (strange.length > 0) throw new Error(`${name}: ${strange.join(', ')} is not understood here`);
    return {
      name,
      image: service.image,
      command: words(name, service.command),
      entrypoint: words(name, service.entrypoint),
      environment: textValues(service.environment ?? {}),
      dependsOn: dependencies(service.depends_on ?? {}),
      healthcheck: service.healthcheck && healthcheck(service.healthcheck),
      mounts: [
        ...(service.volumes ?? []).map(mount),
        ...(service.secrets ?? []).map((one) => secretMount(one, secrets[one])),
      ],
      ports: service.ports ?? [],
      restart: service.restart ?? 'no',
      stopGraceMs: milliseconds(service.stop_grace_period ?? '10s'),
      isReadOnly: service.read_only === true,
      capDrop: service.cap_drop ?? [],
      securityOpt: service.security_opt ?? [],
      limits: { mem_limit: service.mem_limit, pids_limit: service.pids_limit },
    };
  });
}

/** `${NAME}`, `${NAME:-default}` and `$$`, in every text. */
function substituted(value, env) {
  if (Array.isArray(value)) return value.map((one) => substituted(one, env));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, substituted(one, env)]));
  }
  if (typeof value !== 'string') return value;
  return value.replace(/\$(?:(\$)|\{(\w+)(?::-([^${}]*))?\})|\$/g, (_, dollar, name, fallback) => {
    if (dollar) return '$';
    if (name === undefined) throw new Error(`This variable is not understood here: ${value}`);
    return env[name] || (fallback ?? '');
  });
}

/** The lists that commands are, never one text, which a shell would have to take apart. */
function words(service, value) {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw new Error(`${service}: write commands as lists`);
  return value.map(String);
}

const textValues = (values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? '')]));

function dependencies(given) {
  return Object.entries(given).map(([service, { condition = 'service_started' }]) => ({
    service,
    condition,
  }));
}

function healthcheck({
  test,
  interval = '30s',
  timeout = '30s',
  start_period: startPeriod = '0s',
  retries = 3,
}) {
  return {
    test,
    intervalMs: milliseconds(interval),
    timeoutMs: milliseconds(timeout),
    limitMs: milliseconds(startPeriod) + retries * milliseconds(interval),
  };
}

function mount(text) {
  const [source, target, mode] = text.split(':');
  return { source, target, isReadOnly: mode === 'ro' };
}

function secretMount(name, secret) {
  if (!secret?.file) throw new Error(`secret ${name}: only files are understood here`);
  return { source: secret.file, target: `/run/secrets/${name}`, isReadOnly: true };
}

function milliseconds(text) {
  const [, count, unit] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  if (!unit) throw new Error(`This length of time is not understood here: ${text}`);
  return Number(count) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit];
}

/** What the last stage of a Dockerfile sets in the environment of its commands. */
export function imageEnvironment(dockerfile) {
  const last = readFileSync(dockerfile, 'utf8')
    .split(/^FROM /m)
    .at(-1);
  const values = {};
  for (const [, line] of last.matchAll(/^ENV (.*)$/gm)) {
    for (const [, name, quoted, bare] of line.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g))
      values[name] = quoted ?? bare;
  }
  return values;
}
