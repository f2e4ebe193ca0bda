import { spawnSync } from 'node:child_process';

/**
 * What the file asks for to hold a service in, as far as this machine allows it to this user. `setpriv` also ends the
 * service when the proof is killed.
 */
export class Confinement {
  #isRoot = process.getuid?.() === 0;
  #canMount;
  #missing = new Set();

  constructor() {
    this.#canMount = this.#isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;
  }

  /** The command with what comes before it. */
  around(service, command, { prefix = [], writable }) {
    return [...this.#readOnly(service, writable), ...prefix, ...this.#rights(service), ...command];
  }

  /** What was asked for and is not so here. */
  get missing() {
    return [...this.#missing];
  }

  #rights({ capDrop, securityOpt, limits }) {
    const args = ['setpriv', '--pdeathsig', 'KILL'];
    if (securityOpt.includes('no-new-privileges:true')) args.push('--no-new-privs');
    if (capDrop.includes('ALL')) {
      if (this.#isRoot) args.push('--bounding-set=-all', '--inh-caps=-all');
      else this.#missing.add('cap_drop (only root has any to drop)');
    }
    for (const [name, limit] of Object.entries(limits)) {
      if (limit !== undefined) this.#missing.add(`${name} (needs control groups)`);
    }
    return args;
  }

  #readOnly({ isReadOnly }, writable) {
    if (!isReadOnly) return [];
    if (!this.#canMount) {
      this.#missing.add('read_only (needs root and mount namespaces)');
      return [];
    }
    const own = writable.map((path) => `mount --bind '${path}' '${path}'`);
    const script = [
      'mount --make-rprivate /',
      ...own,
      'mount -o remount,bind,ro /',
      // Started there, it would still see the folder as it was before.
      'cd "$PWD"',
      'exec "$@"',
    ];
    return ['unshare', '--mount', 'sh', '-c', script.join(' && '), 'sh'];
  }
}
